"""Nothing that one job or one delivery does ends the workers."""

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.jobs.job import Job, JobState
from service.jobs.job_runner import JobRunner
from service.jobs.job_storage import JobStorage
from service.jobs.store import JobStore
from service.jobs.webhooks import WebhookQueue
from service.jobs.worker import JobWorkers
from tests.jobs.conftest import end_next, new_job
from tests.routing.doubles import TIMEOUT_S

POLL_S = 0.01

Anything = Callable[..., object]
AddJob = Callable[[], Job]


@pytest.fixture
def add_job(services: JobStorage, tmp_path: Path) -> AddJob:
    """Add a job of a few lines."""
    source = tmp_path / "a.txt"
    source.write_text("Guten Morgen!\n" * 3, encoding="utf8")

    def add() -> Job:
        new = new_job(services.store)
        services.blobs.put(f"{new.id}/input", source)
        return services.store.add(new)

    return add


class FailingOnce:
    """The same function, which raises the first time."""

    def __init__(self, real: Anything, error: Exception) -> None:
        self._real, self._error = real, error
        self.num_calls = 0

    def __get__(self, instance: object, owner: type) -> Anything:
        def call(*arguments: object, **named: object) -> object:
            self.num_calls += 1
            if self.num_calls == 1:
                raise self._error
            return self._real(instance, *arguments, **named)

        return call


async def work_until(workers: JobWorkers, add_job: AddJob, has_gone_on: Callable[[], bool]) -> Job:
    """Let workers do one job after the other until something has gone on; the last of them."""
    async with asyncio.timeout(TIMEOUT_S), workers.working():
        while True:
            is_last = has_gone_on()
            job = await asyncio.to_thread(add_job)
            await workers.waiting.wait_for_end(job)
            if is_last:
                return job


@pytest.mark.parametrize("error", [UnicodeError("label empty or too long"), RuntimeError("anything")])
def test_a_failing_delivery_does_not_end_the_workers(
    services: JobStorage,
    runner: JobRunner,
    add_job: AddJob,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    resolve = socket.getaddrinfo

    def fail(host: str, *arguments: Any, **named: Any) -> object:
        if host == "hook.test":
            raise error
        return resolve(host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    first = services.store.add(new_job(services.store, webhook_url="http://hook.test/x"))
    end_next(services.store)

    workers = JobWorkers(services, runner, 1, poll_s=POLL_S)
    is_told = lambda: services.store.again(first).webhook_problem is not None  # noqa: E731
    last = asyncio.run(work_until(workers, add_job, is_told))

    assert services.store.again(last).state is JobState.DONE


@pytest.mark.parametrize(
    ("owner", "method"),
    [
        (JobStore, "claim"),
        (JobStore, "has_too_many_setbacks"),
        (JobStore, "beat"),
        (JobStore, "end"),
        (WebhookQueue, "claim"),
        (JobStore, "expired"),
        (JobStore, "filter_unfinished"),
        (JobRunner, "run"),
        (JobRunner, "journal"),
    ],
)
def test_an_exception_in_a_job_or_sweep_does_not_end_the_workers(
    services: JobStorage,
    runner: JobRunner,
    add_job: AddJob,
    monkeypatch: pytest.MonkeyPatch,
    owner: type,
    method: str,
) -> None:
    failing = FailingOnce(getattr(owner, method), RuntimeError("unforeseen"))
    monkeypatch.setattr(owner, method, failing)

    workers = JobWorkers(services, runner, 1, poll_s=POLL_S)
    last = asyncio.run(work_until(workers, add_job, lambda: failing.num_calls > 1))

    assert services.store.again(last).state is JobState.DONE
