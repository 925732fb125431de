"""Whose jobs are; workers clear up, retry and stop with the server, and no job stops them."""

import asyncio
import errno
import threading
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyOptions
from service.api.readiness import Readiness
from service.http.errors import ApiError
from service.jobs.job import Job, JobState, StoredFile, new_job_id
from service.jobs.job_runner import JobRunner, TimeSlices, sweep
from service.jobs.job_storage import FolderBlobs, JobStorage
from service.jobs.store import UPLOAD_S, JobStore
from service.jobs.worker import JobWorkers
from service.telemetry.counters import HEARTBEAT_S, WorkerCounters
from service.translation.source_language import DetectionMode
from tests.engine.routing.doubles import TIMEOUT_S, until
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


POLL_S = 0.05

Anything = Callable[..., object]
AddJob = Callable[[], Job]


@pytest.fixture
def workers(services: JobStorage, runner: JobRunner) -> JobWorkers:
    return JobWorkers(services, runner, 1, poll_s=POLL_S)


@pytest.fixture
def add_job(services: JobStorage, tmp_path: Path) -> AddJob:
    """Add a job of a few lines."""

    def add() -> Job:
        new = new_job(services.store)
        file = tmp_path / "files" / new.id / "input"
        file.parent.mkdir()
        file.write_text("Guten Morgen!\n" * 3, encoding="utf8")
        return services.store.add(new)

    return add


def fail_once(real: Anything, error: Exception) -> tuple[Anything, list[object]]:
    """The same function or method, which raises the first time, and a list that grows with each call."""
    calls: list[object] = []

    def call(*arguments: object, **named: object) -> object:
        calls.append(arguments)
        if len(calls) == 1:
            raise error
        return real(*arguments, **named)

    return call, calls


async def work_until(workers: JobWorkers, add_job: AddJob, has_gone_on: Callable[[], bool]) -> list[Job]:
    """Let workers do one job after the other until something has gone on; the jobs."""
    jobs = list[Job]()
    async with asyncio.timeout(TIMEOUT_S), workers.working():
        is_last = False
        while not is_last:
            is_last = has_gone_on()
            jobs.append(await asyncio.to_thread(add_job))
            await workers.waiting.wait_for_end(jobs[-1])
        for job in jobs:  # the first one may be tried again still
            await workers.waiting.wait_for_end(job)
    return jobs


BUG = RuntimeError("unforeseen")


@pytest.mark.parametrize(
    ("owner", "name", "error"),
    [
        (JobStore, "claim", BUG),
        (JobStore, "has_too_many_setbacks", BUG),
        (JobStore, "beat", BUG),
        (JobStore, "end", BUG),
        (JobStore, "expired", BUG),
        (JobStore, "filter_unfinished", BUG),
        (FolderBlobs, "put", OSError(errno.ENOSPC, "no space left")),
        (JobRunner, "run", BUG),
        (JobRunner, "journal", BUG),
    ],
)
def test_an_exception_in_a_job_or_sweep_does_not_end_the_workers(
    services: JobStorage,
    workers: JobWorkers,
    add_job: AddJob,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    error: Exception,
) -> None:
    first = add_job()
    failing, calls = fail_once(getattr(owner, name), error)
    monkeypatch.setattr(owner, name, failing)

    def has_gone_on() -> bool:
        return len(calls) > 1 and services.store.again(first).has_ended

    others = asyncio.run(work_until(workers, add_job, has_gone_on))

    # A bug in its run is taken for a fault of the job; after any other failure it is tried again.
    states = [services.store.again(job).state for job in (first, *others)]
    assert states.count(JobState.FAILED) == (owner is JobRunner)
    assert set(states) <= {JobState.DONE, JobState.FAILED}


async def reached(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, TIMEOUT_S)


def work_while_awaiting(workers: JobWorkers, condition: Callable[[], Awaitable[object]]) -> None:
    """Let workers work until something has happened, and stop them."""

    async def work() -> None:
        async with workers.working():
            await condition()

    asyncio.run(work())


def test_a_stopping_server_requeues_a_hanging_job_without_waiting(
    services: JobStorage, runner: JobRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_begun, may_go_on = threading.Event(), threading.Event()

    def hang(_blobs: FolderBlobs, name: str, folder: Path) -> Path:
        has_begun.set()
        may_go_on.wait(TIMEOUT_S)
        return folder / name

    monkeypatch.setattr(FolderBlobs, "local", hang)
    job = services.store.add(new_job(services.store))

    work_while_awaiting(
        JobWorkers(services, runner, 1, poll_s=POLL_S, stop_s=0.1), lambda: reached(has_begun)
    )
    try:
        assert not may_go_on.is_set()
        assert services.store.again(job).state is JobState.QUEUED
    finally:
        may_go_on.set()


def test_a_stuck_worker_makes_the_server_unready(
    services: JobStorage, runner: JobRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = 0.0
    tally = WorkerCounters(lambda: now_s)
    is_stuck, may_go_on = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        is_stuck.set()
        may_go_on.wait(TIMEOUT_S)

    monkeypatch.setattr(JobStore, "claim", hang)

    async def silence() -> None:
        nonlocal now_s
        await reached(is_stuck)
        assert tally.silent() == {}
        now_s = HEARTBEAT_S + 1
        silent.update(tally.silent())
        may_go_on.set()

    silent: dict[str, float] = {}
    work_while_awaiting(JobWorkers(services, runner, 1, tally, poll_s=POLL_S), silence)

    assert {"jobs-1", "documents-1", "documents-2"} <= set(silent)
    assert set(silent) <= {*tally.heartbeat_ages_s()} - {"waiting"}


def test_readiness_names_silent_workers(serve_double: ServeJobs) -> None:
    now_s = 0.0
    tally = WorkerCounters(lambda: now_s)
    tally.beat("jobs-1")
    tally.beat("sweep", 3600)

    class Ready:
        is_ready = True

    now_s = HEARTBEAT_S + 1
    with pytest.raises(ApiError, match=r"jobs-1 \(61 s\)"):
        Readiness(Ready(), tally).require()  # type: ignore[arg-type] # it looks no further

    metrics = serve_double().get("/metrics").text
    assert 'dragoman_worker_heartbeat_age_seconds{worker="jobs-1"}' in metrics
    assert "dragoman_workers_silent 0.0" in metrics
