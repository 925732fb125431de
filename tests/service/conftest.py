"""Servers and commands with the double in the engine's place, and with the tiny bundle's engine."""

import asyncio
import io
import json
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from pydantic import TypeAdapter

from dragoman import Translator
from dragoman.bundle import open_bundle
from dragoman.routing.bundle_runner import PairTranslator
from dragoman.routing.bundle_scan import bundle_folders
from dragoman.routing.options import RouterOptions
from dragoman.routing.router import Router
from service.cli import app as cli
from service.http import openapi
from service.models.engine import preloaded
from service.server.app import create_app
from service.server.server import create_server
from service.server.telemetry import Telemetry
from service.settings.settings import load_settings
from tests.engine.routing.doubles import TIMEOUT_S, DoubleBundles, until, write_bundle
from tests.paths import ROOT
from tests.service.doubles import DoubleTranslator, open_double
from tests.service.keys import Keys

DOUBLE_COMMAND = ROOT / "tests" / "service" / "doubles.py"
TINY_BUNDLE = ROOT / "tests" / "tiny" / "bundle-int8"
ALL_APIS = "native,libretranslate,deepl,google,openai"
SIZE_BYTES = 10
"""Estimated memory of each double."""

NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For clients: to load certificates, as each does of itself, takes longer than a test's requests."""

Serve = Callable[..., httpx.Client]
Run = Callable[..., subprocess.CompletedProcess[bytes]]
Served = tuple[httpx.Client, DoubleTranslator]


@pytest.fixture
def models_dir(tmp_path: Path) -> Path:
    """A models folder with the bundle `tiny` in it."""
    write_bundle(tmp_path / "models" / "tiny", "tiny-de-en")
    return tmp_path / "models"


@pytest.fixture
def translator(models_dir: Path) -> Iterator[DoubleTranslator]:
    double = DoubleTranslator(open_bundle(models_dir / "tiny").manifest)
    yield double
    double.released.set()


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(f"sqlite:///{tmp_path / 'accounts.db'}")


class ShortSleeps:
    """The module `asyncio`, with shorter sleeps: uvicorn sleeps 0.1 s before it looks whether it is to stop,
    and once more while it stops. The tests start hundreds of servers.
    """

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, duration_s: float) -> None:
        await asyncio.sleep(duration_s / 10)


@contextmanager
def running(server: uvicorn.Server, sockets: list[socket.socket] | None = None) -> Iterator[None]:
    """Run a server in a thread."""
    thread = threading.Thread(target=server.run, args=(sockets,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.server.asyncio", ShortSleeps())
        thread.start()
        try:
            until(lambda: server.started)
            yield
        finally:
            server.should_exit = True
            thread.join(TIMEOUT_S)


ADAPTERS: dict[tuple[object, str], TypeAdapter[Any]] = {}


def adapter_of(annotation: Any, **options: Any) -> TypeAdapter[Any]:
    """Return pydantic's adapter of a field, made once: a server has hundreds, and the tests start hundreds
    of servers.
    """
    key = annotation.__origin__, repr((annotation.__metadata__, options))
    if key not in ADAPTERS:
        ADAPTERS[key] = TypeAdapter(annotation, **options)
    return ADAPTERS[key]


SCHEMA_OF = cache(openapi.schema_of)
"""The same of the schemas in the document: they take a quarter of a server's start."""


def router_of(translator: PairTranslator, folder: Path) -> Router:
    """A router whose only bundle is open already."""
    return Router(lambda: {folder.name: folder}, lambda _: translator, lambda _: 1)


def router_over(folder: Path, bundles: DoubleBundles, budget_bytes: int | None = None) -> Router:
    """A router over the bundles in a folder, which it opens as doubles."""
    options = RouterOptions(budget_bytes)
    return Router(lambda: bundle_folders(folder), bundles.open, lambda _: SIZE_BYTES, options)


def is_ready(client: httpx.Client) -> bool:
    return client.get("/readyz").status_code == httpx.codes.OK


def answers(client: httpx.Client) -> bool:
    """Whether a server listens, and is ready."""
    try:
        return is_ready(client)
    except httpx.TransportError:
        return False


@contextmanager
def client_of(
    router: Router, overrides: Mapping[str, object], telemetry: Telemetry | None = None
) -> Iterator[httpx.Client]:
    """A client of a server with default settings, or these, which may not be ready yet. Languages are not
    detected, as the double's words are no German, and no process is started to read a file.
    """
    settings = load_settings(overrides={"detection": "off", "file_isolation": "off", **overrides})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastapi._compat.v2.TypeAdapter", adapter_of)
        patch.setattr(openapi, "schema_of", SCHEMA_OF)
        app = create_app(router, settings, preloaded(settings, router), telemetry)
        server = create_server(app, settings)
        server.config.port = 0
        with running(server):
            port = server.servers[0].sockets[0].getsockname()[1]
            url = f"http://127.0.0.1:{port}"
            with httpx.Client(base_url=url, timeout=TIMEOUT_S, verify=NO_TLS) as client:
                yield client


@contextmanager
def ready_client(router: Router, **overrides: object) -> Iterator[httpx.Client]:
    """The same of a server that is ready."""
    with client_of(router, overrides) as client:
        until(lambda: is_ready(client))
        yield client


@contextmanager
def models_client(
    folder: Path, bundles: DoubleBundles | None = None, /, **settings: object
) -> Iterator[httpx.Client]:
    """A client of a ready server over the bundles in a folder, which it opens as doubles."""
    with (
        router_over(folder, bundles or DoubleBundles()) as router,
        ready_client(router, **settings) as client,
    ):
        yield client


@contextmanager
def double_server(folder: Path, **settings: object) -> Iterator[Served]:
    """A client of a ready server whose only model is the double, and the double."""
    bundle = write_bundle(folder / "models" / "tiny", "tiny-de-en")
    double = DoubleTranslator(open_bundle(bundle).manifest)
    with router_of(double, bundle) as router, ready_client(router, **settings) as client:
        yield client, double
        double.released.set()


@contextmanager
def engine_server(**settings: object) -> Iterator[httpx.Client]:
    """A client of a ready server with the real engine and a tiny model, de -> en."""
    with Router.open({"tiny": TINY_BUNDLE}) as router, ready_client(router, **settings) as client:
        yield client


@pytest.fixture
def serve(translator: DoubleTranslator, models_dir: Path) -> Iterator[Serve]:
    """Start a server of the native API with these settings; gives a client once it is ready."""
    with ExitStack() as running:

        def start(*, await_ready: bool = True, **settings: object) -> httpx.Client:
            router = running.enter_context(router_of(translator, models_dir / "tiny"))
            client = running.enter_context(client_of(router, {"apis": "native", **settings}))
            if await_ready:
                until(lambda: is_ready(client))
                translator.seen.clear()
                translator.requests.clear()
            return client

        yield start
        translator.released.set()


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server with the double, which a module's tests share."""
    with double_server(tmp_path_factory.mktemp("shared")) as shared:
        yield shared


@pytest.fixture(scope="module")
def client(shared_server: Served) -> httpx.Client:
    return shared_server[0]


@pytest.fixture(scope="module")
def double(shared_server: Served) -> DoubleTranslator:
    """The engine of the shared server."""
    return shared_server[1]


@pytest.fixture(scope="module")
def engine() -> Iterator[Translator]:
    """The real engine, with a tiny model."""
    with Translator.open(TINY_BUNDLE) as translator:
        yield translator


@pytest.fixture(scope="module")
def engine_client(engine: Translator) -> Iterator[httpx.Client]:
    """A client of a server with the real engine that detects languages, which a module's tests share."""
    with router_of(engine, TINY_BUNDLE) as router, ready_client(router, detection="on") as shared:
        yield shared


@pytest.fixture
def models(tmp_path: Path) -> Path:
    """Folders `a`: de -> en, `b`: en -> fr, `c`: cs and de into cs and de."""
    write_bundle(tmp_path / "several" / "a", "german")
    write_bundle(tmp_path / "several" / "b", "french", ["en"], ["fr"])
    write_bundle(tmp_path / "several" / "c", "many", ["cs", "de"], ["cs", "de"])
    return tmp_path / "several"


@pytest.fixture
def bundles() -> DoubleBundles:
    return DoubleBundles({"german": -0.5, "french": -0.25})


@pytest.fixture
def serve_models(models: Path, bundles: DoubleBundles) -> Iterator[Serve]:
    """Start a server over the folder with these settings; gives a client once it is ready."""
    with ExitStack() as running:

        def start(budget_bytes: int | None = None, **settings: object) -> httpx.Client:
            router = running.enter_context(router_over(models, bundles, budget_bytes))
            return running.enter_context(ready_client(router, **{"apis": "native", **settings}))

        yield start
        bundles.may_open.set()
        for double in bundles.opened:
            double.released.set()


def translate(client: httpx.Client, **body: object) -> dict[str, Any]:
    response = client.post("/v1/translate", json={"text": "Hallo"} | body)
    assert response.status_code == 200, response.text
    return dict(response.json())


def events_of(response: httpx.Response) -> list[tuple[str, Any]]:
    """Name and data of each server-sent event."""
    blocks = response.text.strip().split("\n\n")
    fields = [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]
    return [(each["event"], json.loads(each["data"])) for each in fields]


def rejection(response: httpx.Response) -> tuple[int, str]:
    """Status and type of an error."""
    return response.status_code, response.json()["error"]["type"]


def fields_of(response: httpx.Response) -> list[str]:
    """The fields that a rejected request has wrong."""
    assert response.status_code == 422, response.text
    return [problem["field"] for problem in response.json()["error"]["fields"]]


@pytest.fixture
def environment(models_dir: Path) -> dict[str, str]:
    """For commands in processes of their own."""
    settings = {"DRAGOMAN_MODELS_DIR": str(models_dir), "DRAGOMAN_MODEL": "tiny"}
    return {**os.environ, "PYTHONPATH": str(ROOT), **settings}


@pytest.fixture
def command() -> list[str]:
    """The `dragoman` command with the double in the engine's place, for a process of its own."""
    return [sys.executable, str(DOUBLE_COMMAND)]


@pytest.fixture
def run_engine(
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> Run:
    """Run the command to its end, in this process: `run_engine("translate", stdin=b"...")`."""
    monkeypatch.chdir(tmp_path)

    def run_to_end(
        *arguments: str, stdin: bytes = b"", **variables: str
    ) -> subprocess.CompletedProcess[bytes]:
        status = 0
        with monkeypatch.context() as patch:
            for name, value in {**environment, **variables}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "argv", ["dragoman", *arguments])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
            try:
                cli.main()
            except SystemExit as ended:
                status = int(ended.code or 0)
        return subprocess.CompletedProcess(arguments, status, *capfdbinary.readouterr())

    return run_to_end


@pytest.fixture
def run(run_engine: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """The same with the double in the engine's place."""
    monkeypatch.setattr(Translator, "open", open_double)
    return run_engine
