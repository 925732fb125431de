"""A headless Chromium, and servers for it. Without Chromium these tests are skipped."""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    Request,
    expect,
    sync_playwright,
)

from tests.browser.servers import COMMAND, DOUBLE_COMMAND, ROOT, Server, environment
from tests.routing.doubles import write_bundle

CHROMIUM = shutil.which("chromium")
NO_CHROMIUM = "Chromium is not installed; on Debian: apt-get install chromium"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
TIMEOUT_MS = 60_000
"""Tests wait no longer than needed; only a failure takes this long."""
NETWORK_MESSAGE = "Failed to load resource"
"""Beginning of the browser's own message about a response that is an error, or missing."""

WORD_WITH_OTHERS = '.word:text-is("cat") + .word'
"""Word of the translation for which the bundled model has others, in the sentence about the cat."""

Open = Callable[..., Page]
ServeDouble = Callable[..., Server]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser of one module: while it runs, no other event loop can run in this thread."""
    if CHROMIUM is None:
        pytest.skip(NO_CHROMIUM)
    expect.set_options(timeout=TIMEOUT_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the bundled models."""
    server = Server(COMMAND, tmp_path_factory.mktemp("bundled"), models_dir=ROOT / "models", threads=1)
    server.start()
    yield server
    server.kill()


def double_server(folder: Path, target: str, settings: Mapping[str, object]) -> Server:
    """Return a server with the double of tests/service in the engine's place, which needs no model."""
    write_bundle(folder / "models" / "tiny", "tiny", ["de"], [target])
    return Server(DOUBLE_COMMAND, folder, **{"models_dir": folder / "models", "detection": "off", **settings})


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with the double, which a module's tests share."""
    server = double_server(tmp_path_factory.mktemp("double"), "en", {})
    server.start()
    yield server
    server.kill()


@pytest.fixture
def serve_double(tmp_path: Path) -> Iterator[ServeDouble]:
    """Start a server with the double, and with these settings."""
    with ExitStack() as running:

        def start(target: str = "en", **settings: object) -> Server:
            server = double_server(tmp_path, target, settings)
            running.callback(server.kill)
            server.start()
            return server

        yield start


@pytest.fixture
def new_key(tmp_path: Path) -> Callable[[str], str]:
    """Create an API key in a database."""

    def create(database_url: str) -> str:
        created = subprocess.run(
            [*COMMAND, "keys", "create", "somebody"],
            cwd=tmp_path,
            env=environment({"database_url": database_url}),
            capture_output=True,
            text=True,
            check=True,
        )
        return created.stdout.split()[0]

    return create


class Watched:
    """What the pages of a test have requested, and what they complain about."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.problems: list[str] = []

    def add(self, context: BrowserContext) -> None:
        context.on("request", self._on_request)
        context.on("console", self._on_message)
        context.on("weberror", lambda error: self.problems.append(str(error.error)))

    def hosts(self) -> set[str]:
        return {urlsplit(url).netloc for url in self.urls if not url.startswith("blob:")}

    def _on_request(self, request: Request) -> None:
        self.urls.append(request.url)

    def _on_message(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(NETWORK_MESSAGE):
            self.problems.append(message.text)


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def open_page(browser: Browser, watched: Watched) -> Iterator[Open]:
    """Open an address in a new context of the browser.

    Every test then checks that the page had no script error, broke no rule of its Content-Security-Policy,
    and requested nothing from another host.
    """
    with ExitStack() as contexts:

        def open_address(address: str, *, width: int = 1280, height: int = 800, dark: bool = False) -> Page:
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                permissions=["clipboard-read", "clipboard-write"],
                accept_downloads=True,
            )
            contexts.callback(context.close)
            context.set_default_timeout(TIMEOUT_MS)
            watched.add(context)
            page = context.new_page()
            page.goto(address)
            return page

        yield open_address
        assert watched.problems == []
        assert len(watched.hosts()) <= 1
