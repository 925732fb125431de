"""What workers do beside translating: clear up, go on after failures, and stop when the server does."""

import errno
from pathlib import Path

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
    run_job,
    send,
    used,
)
from tests.routing.doubles import until
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys


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


def test_jobs_of_a_key_that_hang_delay_no_job_of_another(
    serve_double: ServeJobs, double: DoubleTranslator, keys: Keys
) -> None:
    client, first, second = serve_double(jobs_at_a_time=1), keys.bearer(), keys.bearer()
    client.headers.update(first)
    for number in range(3):
        send(client, f"wait {number}\n".encode())
    until(double.is_waiting.is_set)
    client.headers.update(second)

    assert run_job(client, b"eins\n")["state"] == "done"
    double.released.set()


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
