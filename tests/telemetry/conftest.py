"""Servers that are watched."""

import io
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from prometheus_client.parser import text_string_to_metric_families

from dragoman.routing.router import Router, TranslatorOptions
from service import app as application
from service.engine import preloaded
from service.server_telemetry import Telemetry, TelemetryOptions
from service.settings import load_settings
from tests.routing.doubles import until
from tests.service.conftest import TINY_BUNDLE, forget_settings, is_ready, models_dir, router_of, translator
from tests.service.doubles import DoubleTranslator

__all__ = ["models_dir", "translator"]

TIMEOUT_S = 60
Observe = Callable[..., httpx.Client]
Exposed = dict[tuple[str, tuple[tuple[str, str], ...]], float]
"""Samples by name and labels."""


@contextmanager
def observed(router: Router, observer: Telemetry, **overrides: object) -> Iterator[httpx.Client]:
    """A client of a ready server that an observer surrounds."""
    with ExitStack() as opened:
        patch = opened.enter_context(pytest.MonkeyPatch.context())
        forget_settings(patch)
        settings = load_settings(overrides={"apis": "native", "detection": "off", **overrides})
        names = preloaded(settings, router)
        app = application.create_app(router, settings, names, observer)
        config = uvicorn.Config(app, port=0, loop="asyncio", log_config=None, access_log=False, ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run)
        thread.start()
        try:
            until(lambda: server.started)
            port = server.servers[0].sockets[0].getsockname()[1]
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT_S) as client:
                until(lambda: is_ready(client))
                yield client
        finally:
            server.should_exit = True
            thread.join(TIMEOUT_S)


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
    with observed_engine(Telemetry(TelemetryOptions(memory_budget_bytes=10**10))) as client:
        yield client


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
