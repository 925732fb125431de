"""Servers and commands with the double in the engine's place, and with the tiny bundle's engine."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman import Translator
from dragoman.bundle import open_bundle
from dragoman.routing.bundle_runner import PairTranslator
from dragoman.routing.bundle_scan import bundle_folders
from dragoman.routing.router import Router, RouterOptions
from service.app import create_app
from service.engine import preloaded
from service.server import create_server
from service.settings import Settings, load_settings
from tests.routing.doubles import TIMEOUT_S, DoubleBundles, until, write_bundle
from tests.service.doubles import DoubleTranslator

PROJECT = Path(__file__).resolve().parents[2]
DOUBLE_COMMAND = PROJECT / "tests" / "service" / "doubles.py"
TINY_BUNDLE = PROJECT / "tests" / "tiny" / "bundle-int8"
SIZE_BYTES = 10
"""What every double is reckoned to take."""

Serve = Callable[..., httpx.Client]
ServeModels = Callable[..., httpx.Client]
Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture(autouse=True)
def no_settings_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of whoever runs the tests change none of them."""
    forget_settings(monkeypatch)


def forget_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().startswith("DRAGOMAN_"):
            monkeypatch.delenv(name)


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
def released(translator: DoubleTranslator) -> threading.Event:
    """Ends every `wait`."""
    return translator.released


@pytest.fixture
def is_waiting(translator: DoubleTranslator) -> threading.Event:
    """Set once a `wait` has begun."""
    return translator.is_waiting


@contextmanager
def listening(router: Router, settings: Settings) -> Iterator[str]:
    """A real server in a thread; yields its address."""
    app = create_app(router, settings, preloaded(settings, router))
    server = create_server(app, settings)
    server.config.port = 0
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        until(lambda: server.started)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(TIMEOUT_S)


def router_of(translator: PairTranslator, folder: Path) -> Router:
    """A router whose only bundle is open already."""
    return Router(lambda: {folder.name: folder}, lambda _: translator, lambda _: 1)


def is_ready(client: httpx.Client) -> bool:
    return client.get("/readyz").status_code == httpx.codes.OK


@pytest.fixture
def serve(translator: DoubleTranslator, models_dir: Path) -> Iterator[Serve]:
    """Start a server with these settings; gives a client once it is ready."""
    with ExitStack() as running:

        def start(*, await_ready: bool = True, **settings: object) -> httpx.Client:
            router = running.enter_context(router_of(translator, models_dir / "tiny"))
            overrides = {"detection": "off", **settings}
            address = running.enter_context(listening(router, load_settings(overrides=overrides)))
            client = running.enter_context(httpx.Client(base_url=address, timeout=TIMEOUT_S))
            if await_ready:
                until(lambda: is_ready(client))
                translator.seen.clear()
                translator.requests.clear()
            return client

        yield start
        translator.released.set()


@contextmanager
def ready_client(router: Router, **overrides: object) -> Iterator[httpx.Client]:
    """A client of a ready server with default settings, or these. Languages are not detected, as the double's
    words are no German.
    """
    with pytest.MonkeyPatch.context() as patch:
        forget_settings(patch)
        settings = load_settings(overrides={"detection": "off", **overrides})
    with (
        listening(router, settings) as address,
        httpx.Client(base_url=address, timeout=TIMEOUT_S) as client,
    ):
        until(lambda: is_ready(client))
        yield client


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server with the double, which a module's tests share."""
    bundle = write_bundle(tmp_path_factory.mktemp("models") / "tiny", "tiny-de-en")
    double = DoubleTranslator(open_bundle(bundle).manifest)
    with router_of(double, bundle) as router, ready_client(router) as shared:
        yield shared


@pytest.fixture(scope="module")
def engine() -> Iterator[Translator]:
    """The real engine, with a tiny model."""
    with Translator.open(TINY_BUNDLE) as translator:
        yield translator


@pytest.fixture(scope="module")
def engine_client(engine: Translator) -> Iterator[httpx.Client]:
    """A client of a server with the real engine, which a module's tests share."""
    with router_of(engine, TINY_BUNDLE) as router, ready_client(router) as shared:
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
def serve_models(models: Path, bundles: DoubleBundles) -> Iterator[ServeModels]:
    """Start a server over the folder with these settings; gives a client once it is ready."""
    with ExitStack() as running:

        def start(budget_bytes: int | None = None, **settings: object) -> httpx.Client:
            options = RouterOptions(budget_bytes)
            router = Router(lambda: bundle_folders(models), bundles.open, lambda _: SIZE_BYTES, options)
            running.enter_context(router)
            return running.enter_context(ready_client(router, **settings))

        yield start
        bundles.may_open.set()
        for double in bundles.opened:
            double.released.set()


def translate(client: httpx.Client, **body: object) -> dict[str, Any]:
    response = client.post("/v1/translate", json={"text": "Hallo"} | body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


@pytest.fixture
def environment(models_dir: Path) -> dict[str, str]:
    """For commands in processes of their own."""
    return {
        **os.environ,
        "PYTHONPATH": str(PROJECT),
        "DRAGOMAN_MODELS_DIR": str(models_dir),
        "DRAGOMAN_MODEL": "tiny",
    }


@pytest.fixture
def command() -> list[str]:
    """The `dragoman` command with the double in the engine's place."""
    return [sys.executable, str(DOUBLE_COMMAND)]


@pytest.fixture
def run(command: list[str], environment: dict[str, str], tmp_path: Path) -> Run:
    """Run the command to its end: `run("translate", stdin=b"...")`."""

    def run_to_end(
        *arguments: str, stdin: bytes = b"", **variables: str
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*command, *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env={**environment, **variables},
            timeout=TIMEOUT_S,
        )

    return run_to_end
