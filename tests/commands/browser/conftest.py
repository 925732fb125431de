"""A headless Chromium, and servers for it. Without Chromium these tests are skipped."""

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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

from dragoman.bundle import open_bundle
from service.models.engine import open_router
from service.settings.settings import load_settings
from tests.commands.browser.servers import DOUBLE_COMMAND, Server
from tests.engine.routing.doubles import write_bundle
from tests.paths import ROOT
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator

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

PAUSE_MS = 400
"""A little longer than the page waits for more text."""
HISTORY_PAUSE_MS = 2000
"""Time after which a translation gets into the history."""

Open = Callable[..., Page]
ServeDouble = Callable[..., str]


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
def bundled() -> Iterator[str]:
    """Address of a server with the bundled models, which a module's tests share."""
    settings = load_settings(overrides={"models_dir": ROOT / "models"})
    with open_router(settings) as router, ready_client(router, detection="on") as client:
        yield f"{client.base_url}/"


@contextmanager
def double_server(folder: Path, targets: Sequence[str] = ("en",), **settings: object) -> Iterator[str]:
    """Run a server with the double of tests/service in the engine's place; yield its address."""
    bundle = write_bundle(folder / "models" / "tiny", "tiny", ["de"], targets)
    double = DoubleTranslator(open_bundle(bundle).manifest)
    with router_of(double, bundle) as router, ready_client(router, **settings) as client:
        yield f"{client.base_url}/"
        double.released.set()


@pytest.fixture(scope="module")
def double(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a server with the double, which a module's tests share."""
    with double_server(tmp_path_factory.mktemp("double")) as address:
        yield address


@pytest.fixture
def serve_double(tmp_path: Path) -> Iterator[ServeDouble]:
    """Start a server with the double, and with these settings."""
    with ExitStack() as running:

        def start(targets: Sequence[str] = ("en",), **settings: object) -> str:
            return running.enter_context(double_server(tmp_path, targets, **settings))

        yield start


@pytest.fixture
def server_process(tmp_path: Path) -> Iterator[Server]:
    """A server with the double in a process of its own, which a test may kill."""
    write_bundle(tmp_path / "models" / "tiny", "tiny")
    server = Server(DOUBLE_COMMAND, tmp_path, models_dir=tmp_path / "models", detection="off")
    server.start()
    yield server
    server.kill()


def type_text(page: Page, text: str) -> None:
    """Put a text into the field once the languages are there; the pause after it is over at once."""
    page.wait_for_selector("#target-language option", state="attached")
    page.fill("#source", text)
    page.clock.fast_forward(PAUSE_MS)


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

        def open_address(
            address: str, *, width: int = 1280, height: int = 800, dark: bool = False, locale: str = "en-US"
        ) -> Page:
            context = browser.new_context(
                locale=locale,
                viewport={"width": width, "height": height},
                color_scheme="dark" if dark else "light",
                permissions=["clipboard-read", "clipboard-write"],
                accept_downloads=True,
            )
            contexts.callback(context.close)
            context.set_default_timeout(TIMEOUT_MS)
            context.clock.install()  # time passes as usual, but tests need not wait for it
            watched.add(context)
            page = context.new_page()
            page.goto(address)
            return page

        yield open_address
        assert watched.problems == []
        assert len(watched.hosts()) <= 1


@pytest.fixture
def page(open_page: Open, bundled: str) -> Page:
    """The page of the server with the bundled models."""
    return open_page(bundled)


@pytest.fixture
def double_page(open_page: Open, double: str) -> Page:
    """The page of the server with the double."""
    return open_page(double)
