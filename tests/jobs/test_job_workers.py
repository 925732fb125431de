"""Whose jobs are: charged to their key; and workers: they clear up, retry, and stop with the server."""

import errno
from pathlib import Path

import httpx
import pytest

from service.jobs import worker
from service.jobs.job import StoredFile, new_job_id
from service.jobs.job_runner import JobRunner, sweep
from service.jobs.job_storage import FolderBlobs, JobStorage
from service.jobs.store import UPLOAD_S
from tests.accounts.conftest import Times
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
)
from tests.routing.doubles import until
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys


def with_key(client: httpx.Client, keys: Keys, **limits: int) -> httpx.Client:
    client.headers.update(keys.bearer(**limits))
    return client


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
    client = serve_double(requires_key=True)
    with_key(client, keys, characters_per_month=10)
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
    job = send(client, b"first\n" + b"".join(b"slow %04d\n" % number for number in range(1000)))
    until(lambda: look(client, job["id"])["progress"]["done"] >= 1)
    cancelling = client.delete(f"/v1/jobs/{job['id']}")
    assert (cancelling.status_code, cancelling.json()["is_cancelling"]) == (202, True)
    cancelled = ended(client, job["id"])
    assert (cancelled["state"], cancelled["result"]) == ("cancelled", None)
    assert client.get(f"/v1/jobs/{job['id']}/result").status_code == 404

    characters, documents = used(keys, client)
    assert documents == 0
    assert 5 <= characters < job["progress"]["characters"]
    assert (characters - 5) % len("slow 0000") == 0


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
    client = serve_double(jobs_at_a_time=2)
    client.headers.update(keys.bearer())
    hostile = [send(client, b"wait\n") for _ in range(6)]
    until(lambda: sum(look(client, job["id"])["state"] == "running" for job in hostile) >= 2)

    client.headers.update(keys.bearer())
    assert run_job(client, b"ein haus\n")["state"] == "done"

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
    pass_s(times, store.limits.lifetime_s)
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


def test_a_job_is_retried_after_the_disk_was_full(
    serve_double: ServeJobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    put, num_tries = FolderBlobs.put, 0

    def fail_once(blobs: FolderBlobs, name: str, file: Path) -> None:
        nonlocal num_tries
        if "/result" in name:
            num_tries += 1
            if num_tries == 1:
                raise OSError(errno.ENOSPC, "no space left")
        put(blobs, name, file)

    monkeypatch.setattr(FolderBlobs, "put", fail_once)
    monkeypatch.setattr(worker, "SETBACK_PAUSE_POLLS", 0.1)
    client = serve_double()
    job = run_job(client, b"eins\n")

    assert (job["state"], num_tries) == ("done", 2)


def test_a_job_whose_file_is_missing_fails_with_that_problem(serve_double: ServeJobs, tmp_path: Path) -> None:
    client = serve_double(jobs_at_a_time=0)
    job = send(client, b"eins\n")
    (tmp_path / "dragoman-jobs" / job["id"] / "input").unlink()
    failed = ended(serve_double(), job["id"])

    assert (failed["state"], failed["problem"]) == ("failed", "its file no longer exists")


def test_a_stopping_server_requeues_its_job_which_is_charged_for_its_finished_part_if_cancelled(
    serve_double: ServeJobs, double: DoubleTranslator, tmp_path: Path, keys: Keys
) -> None:
    content = b"first\n" + b"".join(b"slow %03d\n" % number for number in range(200))
    headers = keys.bearer()
    with (
        router_of(DoubleTranslator(double.manifest), tmp_path / "double") as router,
        ready_client(router, database_url=keys.url) as client,
    ):
        client.headers.update(headers)
        job = send(client, content)
        until(lambda: look(client, job["id"])["progress"]["done"] > 0)

    idle = serve_double(jobs_at_a_time=0)
    idle.headers.update(headers)
    assert look(idle, job["id"])["state"] == "queued"
    assert idle.delete(f"/v1/jobs/{job['id']}").json()["is_cancelling"]

    client = serve_double()
    client.headers.update(headers)
    assert ended(client, job["id"])["state"] == "cancelled"
    characters, documents = used(keys, client)
    assert documents == 0
    assert (characters - 5) % len("slow 000") == 0
    assert 5 <= characters < job["progress"]["characters"]
