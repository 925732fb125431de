"""Nothing that one job or one delivery does ends the workers, and what does not work any more says so."""

import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from service.jobs import worker
from service.jobs.job_runner import JobRunner
from service.jobs.store import JobStore
from service.jobs.webhooks import WebhookQueue
from tests.jobs.conftest import SECRET, ServeJobs, look, run_job, send
from tests.routing.doubles import until

Anything = Callable[..., object]


def failing_once(real: Anything, error: Exception) -> Anything:
    """The same, which raises the first time."""
    errors = [error]

    def call(*arguments: object, **named: object) -> object:
        if errors:
            raise errors.pop()
        return real(*arguments, **named)

    return call


@pytest.mark.parametrize("error", [UnicodeError("label empty or too long"), RuntimeError("anything")])
def test_a_failing_delivery_does_not_end_the_workers(
    serve_double: ServeJobs, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    resolve = socket.getaddrinfo

    def fail(host: str, *arguments: Any, **named: Any) -> object:
        if host == "hook.test":
            raise error
        return resolve(host, *arguments, **named)

    client = serve_double(webhook_secret=SECRET, webhook_private=True)
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    first = send(client, b"eins\n", webhook_url="http://hook.test/x")
    until(lambda: look(client, first["id"])["webhook"]["problem"] is not None)

    assert run_job(client, b"zwei\n")["state"] == "done"
    assert client.get("/readyz").status_code == httpx.codes.OK


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
    serve_double: ServeJobs, monkeypatch: pytest.MonkeyPatch, owner: type, method: str
) -> None:
    monkeypatch.setattr(worker, "SETBACK_PAUSE_POLLS", 0.1)
    monkeypatch.setattr(owner, method, failing_once(getattr(owner, method), RuntimeError("unforeseen")))
    client = serve_double(webhook_secret=SECRET)
    run_job(client, b"slow eins\n")

    assert run_job(client, b"zwei\n")["state"] == "done"
    assert client.get("/readyz").status_code == httpx.codes.OK
