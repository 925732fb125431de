"""Nothing that one job or one delivery does ends, stops or holds up the workers."""

import asyncio
import errno
import socket
import threading
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from service.http.errors import ApiError
from service.jobs.job import Job, JobState, WebhookState
from service.jobs.job_runner import JobRunner
from service.jobs.job_storage import FolderBlobs, JobStorage
from service.jobs.store import JobStore
from service.jobs.webhooks import MAX_TRIES, WebhookOptions, WebhookQueue
from service.jobs.worker import JobWorkers
from service.readiness import Readiness
from service.telemetry.counters import HEARTBEAT_S, WorkerCounters
from tests.jobs.conftest import SECRET, ServeJobs, end_next, ended, look, new_job, send, with_key
from tests.jobs.test_webhooks import receiving
from tests.routing.doubles import TIMEOUT_S, until
from tests.service.keys import Keys

POLL_S = 0.01

Anything = Callable[..., object]
AddJob = Callable[[], Job]


@pytest.fixture
def workers(services: JobStorage, runner: JobRunner) -> JobWorkers:
    return JobWorkers(services, runner, 1, poll_s=POLL_S)


@pytest.fixture
def add_job(services: JobStorage, tmp_path: Path) -> AddJob:
    """Add a job of a few lines."""

    def add() -> Job:
        new = new_job(services.store, webhook_url="http://127.0.0.1:9/")
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
        (WebhookQueue, "claim", BUG),
        (socket, "getaddrinfo", BUG),
        (socket, "getaddrinfo", UnicodeError("label empty or too long")),
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
        return len(calls) > 1 and services.store.again(first).webhook_problem is not None

    others = asyncio.run(work_until(workers, add_job, has_gone_on))

    # A bug in its run is taken for a fault of the job; after any other failure it is tried again.
    states = [services.store.again(job).state for job in (first, *others)]
    assert states.count(JobState.FAILED) == (owner is JobRunner)
    assert set(states) <= {JobState.DONE, JobState.FAILED}


def url_of(server: socket.socket) -> str:
    """Of one that takes connections, and never answers."""
    return f"http://127.0.0.1:{server.getsockname()[1]}/"


async def reached(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, TIMEOUT_S)


def work_while_awaiting(workers: JobWorkers, condition: Callable[[], Awaitable[object]]) -> None:
    """Let workers work until something has happened, and stop them."""

    async def work() -> None:
        async with workers.working():
            await condition()

    asyncio.run(work())


def test_a_stopping_server_does_not_wait_for_a_hanging_delivery(
    services: JobStorage, workers: JobWorkers
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        job = services.store.add(new_job(services.store, webhook_url=url_of(silent)))
        end_next(services.store)

        # A try may last for an hour.
        taken = list[socket.socket]()
        work_while_awaiting(workers, lambda: asyncio.to_thread(lambda: taken.append(silent.accept()[0])))
        taken[0].close()

    assert services.store.again(job).webhook_state is WebhookState.PENDING


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
    work_while_awaiting(
        JobWorkers(replace(services, webhooks=None), runner, 1, tally, poll_s=POLL_S), silence
    )

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


def test_slow_webhook_receivers_of_one_key_do_not_delay_other_keys(
    serve_double: ServeJobs, keys: Keys
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, receiving(200) as receiver:
        client = with_key(serve_double(webhook_secret=SECRET, webhook_private=True), keys)
        jobs = [send(client, b"eins\n", webhook_url=url_of(silent))["id"] for _ in range(4)]
        for job_id in jobs:
            ended(client, job_id)
        connection, _ = silent.accept()

        slow_headers = dict(client.headers)
        job = send(with_key(client, keys), b"zwei\n", webhook_url=receiver.url)
        until(lambda: look(client, job["id"])["webhook"]["state"] == "delivered")

        client.headers.update({"Authorization": slow_headers["authorization"]})
        reported = [look(client, job_id)["webhook"] for job_id in jobs]
        assert {each["problem"] for each in reported} == {None}
        assert sorted(each["tries"] for each in reported) == [0, 0, 1, 1]
        assert 'dragoman_webhook_tries_total{outcome="delivered"} 1.0' in client.get("/metrics").text
        connection.close()


def reported(services: JobStorage, runner: JobRunner, url: str, options: WebhookOptions) -> Job:
    """A job that has ended, once no more tries are made to tell so."""
    job = services.store.add(new_job(services.store, webhook_url=url))
    end_next(services.store)

    workers = JobWorkers(replace(services, webhooks=options), runner, 1, poll_s=POLL_S)
    is_over = lambda: services.store.again(job).webhook_state is not WebhookState.PENDING  # noqa: E731
    work_while_awaiting(workers, lambda: asyncio.to_thread(until, is_over))
    return services.store.again(job)


def test_a_webhook_that_always_fails_ends_as_failed(services: JobStorage, runner: JobRunner) -> None:
    with receiving(500) as receiver:
        options = WebhookOptions(b"x" * 16, allows_private=True, first_pause_s=0.0)
        job = reported(services, runner, receiver.url, options)

    assert len(receiver.seen) == job.webhook_tries == MAX_TRIES
    assert (job.webhook_state, job.webhook_due_at) == (WebhookState.FAILED, None)
    assert job.webhook_problem == "it responded with status 500"


def test_a_webhook_to_a_forbidden_address_fails_without_a_retry(
    services: JobStorage, runner: JobRunner
) -> None:
    job = reported(services, runner, "http://127.0.0.1:9/", WebhookOptions(b"x" * 16))

    assert (job.webhook_state, job.webhook_tries) == (WebhookState.FAILED, 1)
