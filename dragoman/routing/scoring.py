"""A given target on its way to the bundle that reads it."""

from collections.abc import Callable
from concurrent.futures import Future

from dragoman.errors import InputError, TranslatorClosed
from dragoman.pipeline.pending_translation import resolve
from dragoman.routing.bundle_pool import BundleHandle, BundlePool
from dragoman.routing.pivot_translation import CancellablePart, EngineRequest, PairTranslator
from dragoman.routing.routes import Route, Step
from dragoman.types import SegmentTranslation


def step_to_score(route: Route) -> Step:
    """The only step of a route.

    Raises:
        InputError: there are two. What one model makes of a pivot nobody gave cannot be told.
    """
    if len(route.steps) > 1:
        pivot = route.steps[0].pair.target
        raise InputError("target", f"no model here is for {route.pair}, which goes through {pivot}")
    return route.steps[0]


class Scoring:
    """Leases the bundle and resolves the future."""

    def __init__(
        self,
        step: Step,
        request: EngineRequest,
        pool: BundlePool[PairTranslator],
        run_beside: Callable[[Callable[[], None]], None],
    ) -> None:
        """Nothing has begun; arguments are those of a `PivotTranslation`, of one step."""
        self.future: Future[SegmentTranslation] = Future()
        """Pending until it is done, so that it can be cancelled all the time."""
        self._step = step
        self._request = request
        self._pool = pool
        self._run_beside = run_beside
        self._awaited = CancellablePart(self.future)

    def begin(self, source: str, target: str) -> None:
        """Set out; where the bundle is not open, once it is."""
        handle = self._pool.acquire(self._step.offer.name, self._request.deadline_s)
        if handle.done():
            self._read(source, target, handle.result())
            return
        self._awaited.watch(handle)
        handle.add_done_callback(lambda asked: self._board(source, target, asked))

    def _board(self, source: str, target: str, asked: Future[BundleHandle[PairTranslator]]) -> None:
        if asked.cancelled():
            return

        def read() -> None:
            try:
                self._read(source, target, asked.result())
            except Exception as error:  # noqa: BLE001 -- the caller sees it
                resolve(self.future, error)

        try:
            self._run_beside(read)
        except RuntimeError:
            resolve(self.future, TranslatorClosed("the router was closed before this was read"))

    def _read(self, source: str, target: str, handle: BundleHandle[PairTranslator]) -> None:
        try:
            found = handle.opened.score(
                source,
                target,
                pair=self._step.pair,
                priority=self._request.priority,
                timeout_s=self._request.remaining_s(),
                flow=self._request.flow,
                cache_partition=self._request.cache_partition,
            )
        except BaseException:
            handle.release()
            raise
        self._awaited.watch(found)
        found.add_done_callback(lambda found: self._arrive(found, handle))

    def _arrive(self, found: Future[SegmentTranslation], handle: BundleHandle[PairTranslator]) -> None:
        handle.release()
        if found.cancelled():
            self.future.cancel()
            return
        error = found.exception()
        if isinstance(error, Exception):
            resolve(self.future, error)
        else:
            resolve(self.future, found.result())
