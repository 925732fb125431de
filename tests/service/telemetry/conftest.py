"""Servers that are watched."""

import io
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import anyio
import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.routing.options import TranslatorOptions
from dragoman.routing.router import Router
from service.server.telemetry import Telemetry
from tests.engine.routing.doubles import until
from tests.service.conftest import TINY_BUNDLE, client_of, is_ready, models_dir, router_of, translator
from tests.service.doubles import DoubleTranslator

__all__ = ["models_dir", "translator"]

Observe = Callable[..., httpx.Client]
Exposed = dict[tuple[str, tuple[tuple[str, str], ...]], float]
"""Samples by name and labels."""


@contextmanager
def observed(router: Router, observer: Telemetry, **overrides: object) -> Iterator[httpx.Client]:
    """A client of a ready server that an observer surrounds."""
    with client_of(router, {"apis": "native", **overrides}, observer) as client:
        until(lambda: is_ready(client))
        yield client


@pytest.fixture
def observe(translator: DoubleTranslator, models_dir: Path) -> Iterator[Observe]:
    """A watched server with the engine's double: `observe(observer, setting=...)` gives a client."""
    with ExitStack() as running:

        def start(observer: Telemetry, **settings: object) -> httpx.Client:
            router = running.enter_context(router_of(translator, models_dir / "tiny"))
            return running.enter_context(observed(router, observer, **settings))

        yield start
        translator.released.set()


@contextmanager
def observed_engine(observer: Telemetry, **overrides: object) -> Iterator[httpx.Client]:
    """The same with the real engine and a tiny model."""
    translators = TranslatorOptions(replicas=1, segment_cache_size=8, engine_metrics=observer.engine_metrics)
    with (
        Router.open({"tiny": TINY_BUNDLE}, translators=translators) as router,
        observed(router, observer, **overrides) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def engine_client() -> Iterator[httpx.Client]:
    """A client of a watched server with the real engine, which a module's tests share."""
    with observed_engine(Telemetry(), memory_budget_bytes=10**10) as client:
        yield client


def serve_one(app: ASGIApp, path: str) -> None:
    """One request to an application of a test's own, whose response goes nowhere."""

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_message: Message) -> None:
        pass

    scope: Scope = {"type": "http", "method": "POST", "path": path, "headers": [], "client": None}
    anyio.run(app, scope, receive, send)


def failing(message: str) -> ASGIApp:
    """An application that fails."""

    async def fail(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 -- the protocol's
        raise RuntimeError(message)

    return fail


def read(client: httpx.Client) -> Exposed:
    """What the server exposes, as Prometheus would parse it."""
    response = client.get("/metrics")
    assert response.status_code == 200, response.text
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def value(exposed: Exposed, name: str, **labels: str) -> float:
    """Of one series; 0 if it is not there yet."""
    return exposed.get((name, tuple(sorted(labels.items()))), 0.0)


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """A stream for logs; afterwards all loggers are as they were before."""
    root = logging.getLogger()
    handlers, levels = (
        root.handlers[:],
        {name: logging.getLogger(name).level for name in (None, "dragoman", "service", "uvicorn")},
    )
    # pytest's own handlers are not closed with those that are replaced.
    root.handlers = []
    yield io.StringIO()
    root.handlers = handlers
    for name, level in levels.items():
        logging.getLogger(name).setLevel(level)
