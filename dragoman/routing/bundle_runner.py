"""Run work on a bundle that may have to be opened first."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar

from dragoman.errors import InputError, TranslatorClosed
from dragoman.pipeline.engine_request import EngineRequest
from dragoman.pipeline.pending_translation import resolve
from dragoman.routing.bundle_pool import BundleHandle, BundlePool
from dragoman.routing.pool_entries import OpenBundle
from dragoman.scheduling.metrics import QueueState
from dragoman.types import SegmentTranslation, Span, Translation

Result = TypeVar("Result")


class PairTranslator(OpenBundle, Protocol):
    """Methods of a `dragoman.translator.Translator` that routing uses."""

    @property
    def kernels(self) -> str: ...

    @property
    def why_not_native(self) -> str: ...

    def submit(self, text: str, request: EngineRequest = ...) -> Future[Translation]: ...

    def translate_many(
        self, texts: Iterable[str], request: EngineRequest = ..., read_ahead: int = ...
    ) -> Iterator[Translation | InputError]: ...

    def score(self, source: str, target: str, request: EngineRequest = ...) -> Future[SegmentTranslation]: ...

    def unknown_spans(self, text: str) -> Sequence[Span]: ...

    def can_spell(self, target: str) -> bool: ...

    def queue(self) -> QueueState: ...


class CancellablePart:
    """The part of a future's work that runs now; it is cancelled with the future."""

    def __init__(self, whole: Future[Any]) -> None:
        self._part: Future[Any] | None = None
        self._is_over = False  # known here, as a reference to the whole would make a cycle
        whole.add_done_callback(lambda _: self._stop())

    def watch(self, part: Future[Any]) -> None:
        """Make this the part that runs now."""
        self._part = part
        if self._is_over:
            part.cancel()

    def _stop(self) -> None:
        self._is_over = True
        part, self._part = self._part, None
        if part is not None:
            part.cancel()


class BundleRunner:
    """Begins work on a pool's bundles, and releases each bundle when its work is done."""

    def __init__(
        self, pool: BundlePool[PairTranslator], run_in_thread: Callable[[Callable[[], None]], Future[None]]
    ) -> None:
        """Create a runner.

        Args:
            pool: has the bundles.
            run_in_thread: runs work off the threads of engine and pool, as `ThreadPoolExecutor.submit` does.
        """
        self._pool = pool
        self._run_in_thread = run_in_thread

    def start(
        self, name: str, deadline_s: float, begin: Callable[[PairTranslator], Future[Result]]
    ) -> Future[Result]:
        """Begin work on a bundle: here if it is open, else on another thread once it is.

        Args:
            name: the bundle's.
            deadline_s: until when to wait for the bundle, on the clock of `time.monotonic`.
            begin: begins the work.

        Returns:
            The outcome of the work. It may be cancelled until it is done.

        Raises:
            DragomanError: what `begin` raises, if the bundle is open.
        """
        acquired = self._pool.acquire(name, deadline_s)
        if acquired.done():
            return _begin(acquired.result(), begin)
        outcome: Future[Result] = Future()
        running = CancellablePart(outcome)
        running.watch(acquired)

        def fail(error: Exception) -> None:
            resolve(outcome, error)

        def begin_now() -> None:
            handle = acquired.result()
            if outcome.cancelled():
                handle.release()
                return
            work = _begin(handle, begin)
            running.watch(work)
            work.add_done_callback(lambda done: _copy_outcome(done, outcome))

        def on_acquired(_: object) -> None:
            if not acquired.cancelled():
                self.run(begin_now, fail)

        acquired.add_done_callback(on_acquired)
        return outcome

    def run(self, work: Callable[[], None], fail: Callable[[Exception], None]) -> None:
        """Run work on another thread; `fail` is called with what it raises, or if the router is closed."""

        def guarded() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 -- the caller sees it
                fail(error)

        def fail_if_cancelled(future: Future[None]) -> None:
            if future.cancelled():
                fail(_closed())

        try:
            self._run_in_thread(guarded).add_done_callback(fail_if_cancelled)
        except RuntimeError:  # it is shut down
            fail(_closed())


def _closed() -> TranslatorClosed:
    return TranslatorClosed("the router was closed before the translation finished")


def _begin(
    handle: BundleHandle[PairTranslator], begin: Callable[[PairTranslator], Future[Result]]
) -> Future[Result]:
    try:
        work = begin(handle.opened)
    except BaseException:
        handle.release()
        raise
    work.add_done_callback(lambda _: handle.release())
    return work


def _copy_outcome(done: Future[Result], outcome: Future[Result]) -> None:
    if done.cancelled():
        outcome.cancel()
        return
    error = done.exception()
    resolve(outcome, error if isinstance(error, Exception) else done.result())
