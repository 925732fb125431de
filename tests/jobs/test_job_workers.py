"""Whose jobs are: charged to their key; and workers: they clear up, retry, and stop with the server."""

import asyncio
import errno
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyOptions
from service.jobs.job import Job, JobState, StoredFile, new_job_id
from service.jobs.job_runner import JobRunner, TimeSlices, sweep
from service.jobs.job_storage import FolderBlobs, JobStorage
from service.jobs.store import UPLOAD_S
from service.jobs.worker import JobWorkers
from service.translation.source_language import DetectionMode
from tests.engine.routing.doubles import until
from tests.jobs.conftest import (
    ServeJobs,
    end_next,
    ended,
    look,
    new_job,
    pass_s,
    post,
    run_job,
    send,
    used,
    with_key,
)
from tests.jobs.working import NotingTranslator, open_storage
from tests.service.accounts.conftest import Times
from tests.service.conftest import TINY_BUNDLE, ready_client, router_of
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

SLOW = b"first\n" + b"".join(b"slow %04d\n" % number for number in range(1000))


def assert_charged_for_its_part(keys: Keys, client: httpx.Client, job: dict[str, Any]) -> None:
    """Assert that a job of `SLOW` was charged for the lines that were translated until it was cancelled."""
    characters, documents = used(keys, client)
    assert documents == 0
    assert 5 <= characters < job["progress"]["characters"]
    assert (characters - 5) % len("slow 0000") == 0


def test_a_caller_cannot_see_jobs_of_other_callers(serve_double: ServeJobs, keys: Keys) -> None:
    client = serve_double(requires_key=True)
    one, other = keys.bearer(), keys.bearer()
    client.headers.update(one)
    job_id = run_job(client, b"x\n")["id"]

    client.headers.update(other)
    assert client.get("/v1/jobs").json()["jobs"] == []
    for path in ("", "/result", "/errors", "/events"):
        assert client.get(f"/v1/jobs/{job_id}{path}").status_code == 404
    assert client.delete(f"/v1/jobs/{job_id}").status_code == 404
    client.headers.update(one)
    assert look(client, job_id)["state"] == "done"


def test_a_file_over_the_quota_is_rejected_and_removed(serve_double: ServeJobs, keys: Keys) -> None:
    client = with_key(serve_double(requires_key=True), keys, characters_per_month=10)
    response = post(client, b"x" * 11)
    assert (response.status_code, response.json()["error"]["type"]) == (429, "quota_exceeded")
    assert client.get("/v1/jobs").json()["jobs"] == []

    run_job(client, b"x" * 10)
    assert used(keys, client) == (10, 1)


def test_failed_entries_are_not_charged(serve_double: ServeJobs, keys: Keys) -> None:
    client = with_key(serve_double(requires_key=True), keys)
    run_job(client, b"eins\nunusable\neins\n")

    assert used(keys, client) == (8, 1)


def test_a_running_job_can_be_cancelled_and_is_charged_for_its_translated_part(
    serve_double: ServeJobs, keys: Keys
) -> None:
    client = with_key(serve_double(requires_key=True), keys)
    job = send(client, SLOW)
    until(lambda: look(client, job["id"])["progress"]["done"] >= 1)
    cancelling = client.delete(f"/v1/jobs/{job['id']}")
    assert (cancelling.status_code, cancelling.json()["is_cancelling"]) == (202, True)
    cancelled = ended(client, job["id"])
    assert (cancelled["state"], cancelled["result"]) == ("cancelled", None)
    assert client.get(f"/v1/jobs/{job['id']}/result").status_code == 404

    assert_charged_for_its_part(keys, client, job)


def test_a_key_cannot_exceed_its_number_of_unfinished_jobs(serve_double: ServeJobs) -> None:
    client = serve_double(jobs_at_a_time=0, max_jobs_of_key=1)
    job = send(client, b"x\n")
    refused = post(client, b"x\n")
    assert (refused.status_code, refused.json()["error"]["type"]) == (429, "overloaded")
    assert int(refused.headers["retry-after"]) > 0

    client.delete(f"/v1/jobs/{job['id']}")
    send(client, b"x\n")


def test_a_key_whose_jobs_never_end_delays_no_job_of_another(
    serve_double: ServeJobs, double: DoubleTranslator, keys: Keys
) -> None:
    client = with_key(serve_double(jobs_at_a_time=2), keys)
    hostile = [send(client, b"wait\n") for _ in range(6)]
    until(lambda: sum(look(client, job["id"])["state"] == "running" for job in hostile) >= 2)

    assert run_job(with_key(client, keys), b"ein haus\n")["state"] == "done"

    double.released.set()


def test_the_sweep_removes_expired_jobs_and_orphaned_files(
    services: JobStorage, runner: JobRunner, times: Times, tmp_path: Path
) -> None:
    store, sent = services.store, tmp_path / "sent"
    sent.write_bytes(b"x")
    over, nobodys = store.add(new_job(store)).id, new_job_id(times.now)
    for name in (f"{over}/result", f"{nobodys}/input"):
        services.blobs.put(name, sent)
    end_next(store, StoredFile(f"{over}/result", 1, ""))
    sweep(services, runner)
    assert set(services.blobs.jobs()) == {over, nobodys}

    pass_s(times, UPLOAD_S + 1)  # by now it would have been added
    sweep(services, runner)
    assert services.blobs.jobs() == [over]
    pass_s(times, store.settings.job_lifetime_s)
    sweep(services, runner)
    assert services.blobs.jobs() == []
    assert store.page(None, 10) == []


def test_the_sweep_continues_after_files_that_cannot_be_removed(
    services: JobStorage, runner: JobRunner, times: Times, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sent").write_bytes(b"x")
    ids = [new_job_id(times.now) for _ in range(6)]
    for job_id in ids:
        services.blobs.put(f"{job_id}/input", tmp_path / "sent")
    remove = FolderBlobs.remove

    def fail_for_some(blobs: FolderBlobs, job_id: str) -> None:
        if job_id in ids[::2]:
            raise OSError(errno.EACCES, "not allowed")
        remove(blobs, job_id)

    monkeypatch.setattr(FolderBlobs, "remove", fail_for_some)
    pass_s(times, UPLOAD_S + 1)
    sweep(services, runner)

    assert set(services.blobs.jobs()) == set(ids[::2])


def test_a_stopping_server_requeues_its_job_which_is_charged_for_its_finished_part_if_cancelled(
    serve_double: ServeJobs, double: DoubleTranslator, models_dir: Path, keys: Keys
) -> None:
    headers = keys.bearer()
    with (
        router_of(DoubleTranslator(double.manifest), models_dir / "tiny") as router,
        ready_client(router, database_url=keys.url) as client,
    ):
        client.headers.update(headers)
        job = send(client, SLOW)
        until(lambda: look(client, job["id"])["progress"]["done"] > 0)

    idle = serve_double(jobs_at_a_time=0)
    idle.headers.update(headers)
    assert look(idle, job["id"])["state"] == "queued"
    assert idle.delete(f"/v1/jobs/{job['id']}").json()["state"] == "cancelled"
    assert_charged_for_its_part(keys, idle, job)


def test_long_jobs_of_more_keys_than_workers_all_advance_and_delay_no_other_key(tmp_path: Path) -> None:
    with ExitStack() as opened:
        storage = open_storage(f"sqlite:///{tmp_path / 'jobs.db'}", tmp_path / "files", opened, timedelta(0))
        router = opened.enter_context(router_of(NotingTranslator(tmp_path / "noted"), TINY_BUNDLE))
        runner = JobRunner(router, storage.store.database, DetectionMode.OFF, 8)

        def add(num_lines: int) -> Job:
            """A job of a new key."""
            key = KeyStore(storage.store.database).create(KeyOptions("test"), datetime.now(UTC)).key
            new = new_job(storage.store, key.id)
            (tmp_path / "sent").write_text("".join(f"line {number}\n" for number in range(num_lines)))
            storage.blobs.put(f"{new.id}/input", tmp_path / "sent")
            return storage.store.add(replace(new, num_entries=num_lines))

        def has_advanced(job: Job) -> bool:
            return runner.journal(job.id).num_outcomes() > 0

        async def run() -> None:
            workers = JobWorkers(storage, runner, 1, poll_s=0.05, slices=TimeSlices(0.0, 0.0))
            async with workers.working():
                await asyncio.to_thread(until, lambda: all(map(has_advanced, long_jobs)))
                short = await asyncio.to_thread(add, 1)
                await workers.waiting.wait_for_end(short)
                assert storage.store.again(short).state is JobState.DONE
                assert not any(storage.store.again(job).has_ended for job in long_jobs)

        long_jobs = [add(5_000) for _ in range(6)]
        asyncio.run(run())
