"""Nothing that one job does ends, stops or holds up the workers."""

import asyncio
import errno
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from service.api.readiness import Readiness
from service.http.errors import ApiError
from service.jobs.job import Job, JobState
from service.jobs.job_runner import JobRunner
from service.jobs.job_storage import FolderBlobs, JobStorage
from service.jobs.store import JobStore
from service.jobs.worker import JobWorkers
from service.telemetry.counters import HEARTBEAT_S, WorkerCounters
from tests.engine.routing.doubles import TIMEOUT_S
from tests.jobs.conftest import ServeJobs, new_job

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
