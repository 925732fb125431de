"""A double for the engine, a bundle without a model, and servers that use them.

Run as a script, this file is the `dragoman` command with the double in the engine's place.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from dragoman import (
    Alternative,
    DeadlineExceeded,
    DecodingOptions,
    FinishReason,
    InputError,
    Overloaded,
    Priority,
    Translation,
    Translator,
)
from dragoman.batching.meters import NO_METER, Meter, QueueState
from dragoman.bundle import open_bundle
from dragoman.manifest import Manifest
from dragoman.providers import Provider
from dragoman.routing.inspection import bundle_folders
from dragoman.routing.journey import PairTranslator
from dragoman.routing.router import Router, RouterOptions
from dragoman.types import Pair, SegmentTranslation
from service import cli
from service.app import create_app
from service.engine import preloaded
from service.settings import Settings, load_settings
from tests.routing.doubles import DoubleBundles, answer, line_segments, scored, tell, until, write_bundle

__all__ = ["until", "write_bundle"]

DEFAULTS = DecodingOptions()
PROJECT = Path(__file__).resolve().parents[2]
TINY_BUNDLE = PROJECT / "tests" / "tiny" / "bundle-int8"
DOUBLE_WINDOW_TEXTS = 4
TIMEOUT_S = 60
SIZE_BYTES = 10
"""What every double is reckoned to take."""

Serve = Callable[..., httpx.Client]
ServeModels = Callable[..., httpx.Client]
Run = Callable[..., subprocess.CompletedProcess[bytes]]


class DoubleTranslator:
    """Translates into upper case. A word in a text makes it misbehave.

    `unusable` is an InputError, `explode` a RuntimeError that quotes the text, `full` Overloaded, `late`
    DeadlineExceeded, `slow` takes half a second, and `wait` lasts until `released` is set.
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.is_closed = False
        self.queue_state = QueueState(0, 1, 0)
        self.released = threading.Event()
        self.is_waiting = threading.Event()
        self.seen: list[tuple[str, DecodingOptions]] = []
        self.timeouts_s: list[float | None] = []
        self.priorities: list[Priority] = []
        self.cancelled: list[str] = []
        self._threads = ThreadPoolExecutor(8)

    def queue(self) -> QueueState:
        return self.queue_state

    def close(self) -> None:
        self.is_closed = True
        self.released.set()
        self._threads.shutdown(cancel_futures=True)

    def submit(
        self,
        text: str,
        options: DecodingOptions = DEFAULTS,
        *,
        pair: Pair | None = None,
        priority: Priority = Priority.INTERACTIVE,
        timeout_s: float | None = None,
        on_segment: Callable[[SegmentTranslation], object] | None = None,
        on_token: Callable[[int, str], object] | None = None,
    ) -> Future[Translation]:
        """As the engine does: the future may be cancelled until it is done."""
        assert pair in set(self.manifest.languages.pairs())
        defaults = self.manifest.decoding
        options.resolve(defaults.beam_size, defaults.length_penalty, defaults.early_stopping)
        self.seen.append((text, options))
        self.priorities.append(priority)
        self.timeouts_s.append(timeout_s)
        if "unusable" in text:
            raise InputError("text", "is not usable")
        if "full" in text:
            raise Overloaded(num_waiting=8, queue_size=9, num_sources=2)
        future: Future[Translation] = Future()

        def translate() -> Translation:
            outcome = self._translate(text, options)
            tell(outcome, on_segment, on_token)
            return outcome

        def note(done: Future[Translation]) -> None:
            if done.cancelled():
                self.cancelled.append(text)

        future.add_done_callback(note)
        self._threads.submit(answer, future, translate)
        return future

    def score(
        self,
        source: str,
        target: str,
        *,
        pair: Pair | None = None,
        priority: Priority = Priority.INTERACTIVE,
        timeout_s: float | None = None,
    ) -> Future[SegmentTranslation]:
        """See `scored`."""
        assert priority is Priority.INTERACTIVE
        assert pair in set(self.manifest.languages.pairs())
        self.timeouts_s.append(timeout_s)
        future: Future[SegmentTranslation] = Future()
        self._threads.submit(answer, future, lambda: scored(source, target))
        return future

    def translate_many(
        self,
        texts: Iterable[str],
        options: DecodingOptions = DEFAULTS,
        read_ahead: int = DOUBLE_WINDOW_TEXTS,
        *,
        pair: Pair | None = None,
    ) -> Iterator[Translation | InputError]:
        """Reads ahead, as the engine does."""
        assert pair in set(self.manifest.languages.pairs())
        remaining = enumerate(texts)
        while window := list(islice(remaining, min(read_ahead, DOUBLE_WINDOW_TEXTS))):
            for position, text in window:
                if "unusable" in text:
                    yield InputError("text", "is not usable", position)
                else:
                    yield self._translate(text, options)

    def _translate(self, text: str, options: DecodingOptions) -> Translation:
        if "explode" in text:
            raise RuntimeError(f"cannot handle {text}")
        if "late" in text:
            raise DeadlineExceeded(1.5)
        if "slow" in text:
            time.sleep(0.5)
        if "wait" in text:
            self.is_waiting.set()
            assert self.released.wait(TIMEOUT_S)
        score = -0.5 if options.return_scores else None
        hypotheses = tuple(
            Alternative(text.upper() + "!" * rank, score) for rank in range(options.num_hypotheses)
        )
        segments = line_segments(text.split("\n"), text.upper().split("\n"), score, FinishReason.STOP)
        confidence = None if score is None else 0.75
        return Translation(hypotheses[0].text, score, FinishReason.STOP, segments, hypotheses, confidence)


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
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", loop="asyncio"))
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
                translator.timeouts_s.clear()
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
    return [sys.executable, __file__]


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


def open_double(
    path: str | Path,
    *,
    replicas: int | None = None,
    threads: int = 1,
    queue_size: int = 1,
    recall_segments: int = 0,
    providers: Sequence[Provider] = ("cpu",),
    meter: Meter = NO_METER,
) -> DoubleTranslator:
    """In place of Translator.open; the bundle is verified all the same."""
    assert min(replicas or 1, threads, queue_size) >= 1
    assert recall_segments >= 0
    assert tuple(providers) == ("cpu",)
    assert meter is not None
    return DoubleTranslator(open_bundle(Path(path)).manifest)


def main(arguments: Sequence[str]) -> None:
    """The command, with the double."""
    Translator.open = open_double  # type: ignore[assignment,method-assign]
    sys.argv = ["dragoman", *arguments]
    cli.main()


if __name__ == "__main__":
    main(sys.argv[1:])
