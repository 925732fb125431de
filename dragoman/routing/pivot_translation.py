"""Translate one text through the bundles of its route, one after the other."""

import threading
from concurrent.futures import Future
from dataclasses import replace

from dragoman.errors import DeadlineExceeded, InputError
from dragoman.pipeline.engine_request import EngineRequest
from dragoman.pipeline.pending_translation import resolve
from dragoman.routing.bundle_runner import BundleRunner, CancellablePart
from dragoman.routing.results import RoutedTranslation, combine, first_step_options, source_of_next_step
from dragoman.routing.routes import Route
from dragoman.scheduling.fair_queue import Flow
from dragoman.types import Pair, Translation


class PivotTranslation:
    """One text's translation through one step or two; it resolves its future.

    Each step releases its bundle before the next step acquires another, so that no two texts wait for each
    other's bundles.
    """

    def __init__(self, route: Route, request: EngineRequest, runner: BundleRunner) -> None:
        self.future: Future[RoutedTranslation] = Future()
        """Pending until it is done, so that it can be cancelled at any time."""
        self._route = route
        self._request = request if request.flow is not None else replace(request, flow=Flow())
        self._runner = runner
        self._text = ""
        self._done: list[Translation] = []
        self._running = CancellablePart(self.future)
        self._is_settled = False
        self._lock = threading.Lock()

    def begin(self, text: str) -> None:
        """Begin the first step. If its bundle is open, the text is prepared on this thread.

        Raises:
            InputError: there are terms, but no single model for the pair.
            DragomanError: what the first step raises at once; later errors are the future's.
        """
        if len(self._route.steps) > 1 and self._request.options.terminology is not None:
            through = self._route.steps[0].pair.target
            problem = f"{self._route.pair} goes through {through}; terms need one model for both languages"
            raise InputError("terms", problem)
        self._text = text
        self._begin_step(text)

    def _fail(self, error: Exception) -> None:
        if isinstance(error, DeadlineExceeded):
            error = DeadlineExceeded(self._request.deadline.timeout_s)  # not what one step had left of it
        elif isinstance(error, InputError) and self._done:
            error = blame_pivot(error, self._route)
        self._settle(error)

    def _begin_step(self, text: str) -> None:
        self._request.deadline.check()
        number = len(self._done)
        request = request_of_step(self._request, self._route, number)
        part = self._runner.start(
            self._route.steps[number].offer.name,
            request.deadline.at_s,
            lambda translator: translator.submit(text, request),
        )
        self._running.watch(part)
        part.add_done_callback(self._end_step)

    def _end_step(self, part: Future[Translation]) -> None:
        if part.cancelled():
            self.future.cancel()
            return
        try:
            self._done.append(part.result())
        except Exception as error:  # noqa: BLE001 -- the caller sees it
            self._fail(error)
            return
        if len(self._done) == len(self._route.steps):
            self._settle(combine(self._route, self._text, self._done))
        else:
            self._runner.run(lambda: self._begin_step(source_of_next_step(self._done[-1])), self._fail)

    def _settle(self, outcome: RoutedTranslation | Exception) -> None:
        with self._lock:
            if self._is_settled:
                return
            self._is_settled = True
        resolve(self.future, outcome)


def request_of_step(request: EngineRequest, route: Route, number: int) -> EngineRequest:
    """Return the request for one step of a route: callbacks and some options are for the last step only.

    The context is in the language of the first step's source.
    """
    flow = None if request.flow is None else request.flow.at_step(number)
    if number:
        request = replace(request, options=replace(request.options, context=""))
    source, target = route.steps[number].pair
    if number == len(route.steps) - 1:
        return replace(request, pair=Pair(source, route.variant or target), flow=flow)
    request = replace(request, pair=Pair(source, target), flow=flow)
    request = replace(request, on_segmented=None, on_segment=None, on_token=None)
    return replace(request, options=first_step_options(request.options))


def blame_pivot(error: InputError, route: Route) -> InputError:
    """Return the error of a second step, which names the text in the pivot language as its cause."""
    if error.field != "text":
        return error
    problem = (
        f"its translation into {route.steps[0].pair.target} cannot be translated further: {error.problem}"
    )
    return InputError(error.field, problem, error.item)
