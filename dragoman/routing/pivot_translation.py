"""One text on its way: through the bundles of its route, one after the other."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from dragoman.decoding.options import DecodingOptions
from dragoman.errors import DeadlineExceeded, InputError, TranslatorClosed
from dragoman.manifest import Manifest
from dragoman.pipeline.pending_translation import resolve
from dragoman.routing.bundle_pool import BundleHandle, BundlePool
from dragoman.routing.results import RoutedTranslation, combine, options_before_last, text_to_go_on
from dragoman.routing.routes import Route
from dragoman.scheduling.fair_queue import Flow
from dragoman.scheduling.metrics import QueueState
from dragoman.types import Pair, Priority, SegmentTranslation, Translation


class PairTranslator(Protocol):
    """What routing needs of a `dragoman.translator.Translator`."""

    @property
    def manifest(self) -> Manifest: ...

    @property
    def is_closed(self) -> bool: ...

    def submit(  # noqa: PLR0913 -- a text's own wishes, all named
        self,
        text: str,
        options: DecodingOptions = ...,
        *,
        pair: Pair | None = ...,
        priority: Priority = ...,
        timeout_s: float | None = ...,
        flow: Flow | None = ...,
        on_segment: Callable[[SegmentTranslation], object] | None = ...,
        on_token: Callable[[int, str], object] | None = ...,
        cache_partition: str = ...,
    ) -> Future[Translation]: ...

    def translate_many(
        self,
        texts: Iterable[str],
        options: DecodingOptions = ...,
        read_ahead: int = ...,
        *,
        pair: Pair | None = ...,
        cache_partition: str = ...,
    ) -> Iterator[Translation | InputError]: ...

    def queue(self) -> QueueState: ...

    def score(
        self,
        source: str,
        target: str,
        *,
        pair: Pair | None = ...,
        priority: Priority = ...,
        timeout_s: float | None = ...,
        flow: Flow | None = ...,
        cache_partition: str = ...,
    ) -> Future[SegmentTranslation]: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Callbacks:
    """Whom to tell while a text is on its way; see `Translator.submit`."""

    on_segment: Callable[[SegmentTranslation], object] | None = None
    on_token: Callable[[int, str], object] | None = None


NO_CALLBACKS = Callbacks()


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """What a caller asks for besides the text."""

    options: DecodingOptions
    priority: Priority
    timeout_s: float | None
    deadline_s: float
    """On `time.monotonic`'s clock; it covers all steps."""
    watch: Callbacks
    """Of the last step."""
    flow: Flow
    """The request that the text is part of."""
    cache_partition: str = ""

    @classmethod
    def beginning_now(
        cls,
        options: DecodingOptions,
        priority: Priority,
        timeout_s: float | None,
        watch: Callbacks,
        flow: Flow | None = None,
        cache_partition: str = "",
    ) -> "EngineRequest":
        deadline_s = math.inf if timeout_s is None else time.monotonic() + timeout_s
        return cls(options, priority, timeout_s, deadline_s, watch, flow or Flow(), cache_partition)

    def remaining_s(self) -> float | None:
        """Seconds that are left; None for no limit.

        Raises:
            DeadlineExceeded: none are.
        """
        if self.timeout_s is None:
            return None
        remaining_s = self.deadline_s - time.monotonic()
        if remaining_s <= 0:
            raise DeadlineExceeded(self.timeout_s)
        return remaining_s


class CancellablePart:
    """What a whole waits for at the moment: it is given up when the whole is."""

    def __init__(self, whole: Future[Any]) -> None:
        self._part: Future[Any] | None = None
        self._is_over = False  # known here, as a reference to the whole would make a cycle
        whole.add_done_callback(lambda _: self._stop())

    def watch(self, part: Future[Any]) -> None:
        """This is waited for from now on."""
        self._part = part
        if self._is_over:
            part.cancel()

    def _stop(self) -> None:
        self._is_over = True
        part, self._part = self._part, None
        if part is not None:
            part.cancel()


class PivotTranslation:
    """Leads a text through its route's steps and resolves its future.

    Each step acquires its bundle and gives it back before the next step asks for another, so that no two
    of them wait for each other's bundles.
    """

    def __init__(
        self,
        route: Route,
        request: EngineRequest,
        pool: BundlePool[PairTranslator],
        run_beside: Callable[[Callable[[], None]], None],
    ) -> None:
        """Nothing has begun.

        Args:
            route: where to.
            request: the same for every step.
            pool: has the bundles.
            run_beside: runs what takes time, off the threads of engine and pool; raises RuntimeError when
                it does not any more.
        """
        self.future: Future[RoutedTranslation] = Future()
        """Pending until it is done, so that it can be cancelled all the time."""
        self._route = route
        self._request = request
        self._pool = pool
        self._run_beside = run_beside
        self._text = ""
        self._done: list[Translation] = []
        self._awaited = CancellablePart(self.future)
        self._is_settled = False
        self._lock = threading.Lock()

    def begin(self, text: str) -> None:
        """Set out. Where the first bundle is open, the text is prepared here and now.

        Raises:
            DragomanError: what the first step refuses at once; what comes later is the future's.
        """
        self._text = text
        self._enter(text)

    def fail(self, error: Exception) -> None:
        """Give the text up for a reason."""
        if isinstance(error, DeadlineExceeded) and self._request.timeout_s is not None:
            error = DeadlineExceeded(self._request.timeout_s)  # not what was left of it for one step
        elif isinstance(error, InputError) and self._done:
            error = blame_pivot(error, self._route)
        self._settle(error)

    def _enter(self, text: str) -> None:
        """Begin the next step."""
        self._request.remaining_s()
        step = self._route.steps[len(self._done)]
        handle = self._pool.acquire(step.offer.name, self._request.deadline_s)
        if handle.done():
            self._translate(text, handle.result())
            return
        self._awaited.watch(handle)
        handle.add_done_callback(lambda asked: self._board(text, asked))

    def _board(self, text: str, asked: Future[BundleHandle[PairTranslator]]) -> None:
        """Go on with a bundle that had to be waited for, on the shelf's thread."""
        if not asked.cancelled():
            self._beside(lambda: self._translate(text, asked.result()))

    def _translate(self, text: str, handle: BundleHandle[PairTranslator]) -> None:
        if self.future.done():
            handle.release()
            return
        step = self._route.steps[len(self._done)]
        is_last = len(self._done) + 1 == len(self._route.steps)
        options, watch = self._request.options, self._request.watch if is_last else NO_CALLBACKS
        try:
            found = handle.opened.submit(
                text,
                options if is_last else options_before_last(options),
                pair=step.pair,
                priority=self._request.priority,
                timeout_s=self._request.remaining_s(),
                flow=self._request.flow.at_step(len(self._done)),
                on_segment=watch.on_segment,
                on_token=watch.on_token,
                cache_partition=self._request.cache_partition,
            )
        except BaseException:
            handle.release()
            raise
        self._awaited.watch(found)
        found.add_done_callback(lambda found: self._arrive(found, handle))

    def _arrive(self, found: Future[Translation], handle: BundleHandle[PairTranslator]) -> None:
        """At the end of a step, on a thread of the engine."""
        handle.release()
        if found.cancelled():
            self.future.cancel()
            return
        try:
            self._done.append(found.result())
        except Exception as error:  # noqa: BLE001 -- the caller sees it
            self.fail(error)
            return
        if len(self._done) == len(self._route.steps):
            self._settle(combine(self._route, self._text, self._done))
        else:
            self._beside(lambda: self._enter(text_to_go_on(self._done[-1])))

    def _beside(self, work: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                work()
            except Exception as error:  # noqa: BLE001 -- the caller sees it
                self.fail(error)

        try:
            self._run_beside(guarded)
        except RuntimeError:
            self.fail(TranslatorClosed("the router was closed before this was translated"))

    def _settle(self, outcome: RoutedTranslation | Exception) -> None:
        with self._lock:
            if self._is_settled:
                return
            self._is_settled = True
        resolve(self.future, outcome)


def blame_pivot(error: InputError, route: Route) -> InputError:
    """An error of a second step: it is not the caller's text that is at fault, but what became of it."""
    if error.field != "text":
        return error
    problem = f"its translation into {route.steps[0].pair.target} cannot go on: {error.problem}"
    return InputError(error.field, problem, error.item)
