"""Run the engine from the event loop, and check at start that it works."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter

from dragoman import Deadline, EngineRequest, InputError
from dragoman.pipeline.pacing import LARGE_CHARACTERS
from dragoman.routing.results import RoutedTranslation
from dragoman.routing.router import Router
from dragoman.routing.routes import Route
from dragoman.types import SegmentTranslation
from service.work.deadlines import current_deadline
from service.work.fair_slots import FairSlots
from service.work.shares import current_client

WARM_UP_TEXT = "Guten Morgen."
"""German, for models of any language: nobody reads its translation, and it passes through tokenizer, encoder
and decoder like every text."""
MAX_PREPARING = 2
"""Requests whose texts are prepared at the same time, one of each client; for large ones the limit is one.
Threads take turns with the interpreter, so that more prepare no faster, but delay the event loop and every
step of the engine."""

logger = logging.getLogger(__name__)

Outcome = RoutedTranslation | InputError
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class EngineCall:
    """A text for the engine, the route it takes, and how to translate it."""

    route: Route
    text: str
    request: EngineRequest
    """The options and the sender of the text; the deadline is set when it is submitted."""


class Inference:
    """Submits texts to a router and awaits them, without blocking the event loop."""

    def __init__(self, router: Router, timeout_s: float, preloaded: Sequence[str]) -> None:
        """Create it; it is ready at once if there is nothing to warm up.

        Args:
            router: has the bundles.
            timeout_s: time limit of a request.
            preloaded: names of bundles that must have translated a sentence first.
        """
        self.router = router
        self.is_ready = not preloaded
        self._preloaded = tuple(preloaded)
        self._timeout_s = timeout_s
        self._preparing = FairSlots(MAX_PREPARING, 1)
        self._preparing_large = FairSlots(1, 1)
        self._threads = CapacityLimiter(MAX_PREPARING + 1)

    async def run_in_thread(self, work: Callable[[], Result], num_characters: int = 0) -> Result:
        """Run CPU-bound work on a thread: on the event loop it would delay every other request.

        Args:
            work: what to run.
            num_characters: how many characters it processes.
        """
        is_large = num_characters >= LARGE_CHARACTERS
        slots = self._preparing_large if is_large else self._preparing
        async with slots.hold(current_client.get(), 1 + num_characters):
            return await anyio.to_thread.run_sync(work, limiter=self._threads)

    async def run(self, calls: Sequence[EngineCall]) -> list[Outcome]:
        """Translate texts; return per text its translation or its error.

        If it is cancelled, or one text fails for a reason that concerns all, all are cancelled.

        Raises:
            InputError: an option is beyond the model's limits.
            Overloaded: the queue is full.
            MemoryBudgetExceeded: there is not enough memory for the model.
            BundleError: the model cannot be opened.
            DeadlineExceeded: they were not done in time.
        """
        return await self.run_planned(lambda: calls, sum(len(call.text) for call in calls))

    async def run_planned(
        self, plan: Callable[[], Sequence[EngineCall]], num_characters: int | None
    ) -> list[Outcome]:
        """Do the same for calls that `plan` makes on the thread that submits them.

        Each change of threads waits for the interpreter, which the engine's threads need as well. Without
        `num_characters` the event loop plans and submits; a full queue then raises without waiting.
        """
        submitted = _SubmittedCalls()
        try:
            if num_characters is None:
                self._submit(submitted, plan())
            else:
                await self.run_in_thread(lambda: self._submit(submitted, plan()), num_characters)
            return await submitted.outcomes()
        finally:
            submitted.cancel()

    async def score(
        self, route: Route, pairs: Sequence[tuple[str, str]], request: EngineRequest
    ) -> list[SegmentTranslation]:
        """Score each source and its given target; errors are those of `run`.

        If it is cancelled, or one pair fails, all are cancelled.
        """
        request = replace(request, deadline=self._deadline())
        futures: list[Future[SegmentTranslation]] = []

        def submit() -> None:
            for item, (source, target) in enumerate(pairs):
                try:
                    futures.append(self.router.score(route, source, target, request))
                except InputError as error:
                    raise InputError(error.field, error.problem, item) from error

        try:
            num_characters = sum(len(text) for pair in pairs for text in pair)
            await self.run_in_thread(submit, num_characters)
            return list(await asyncio.gather(*map(asyncio.wrap_future, futures)))
        finally:
            for future in futures:
                future.cancel()

    def _deadline(self) -> Deadline:
        """Return the deadline of the request that runs; work of no request gets one from now on."""
        return current_deadline.get() or Deadline.after(self._timeout_s)

    def _submit(self, submitted: "_SubmittedCalls", calls: Sequence[EngineCall]) -> None:
        deadline = self._deadline()  # of all texts together
        for call in calls:
            try:
                request = replace(call.request, deadline=deadline)
                future = self.router.follow(call.route, call.text, request)
            except InputError as error:
                if error.field != "text":  # it is the same for all texts
                    raise
                future = Future()
                future.set_exception(error)
            submitted.futures.append(future)
            if submitted.is_cancelled:  # only now: `cancel` may have missed this one
                future.cancel()
                break

    async def warm_up(self) -> None:
        """Translate one sentence with every preloaded bundle, and become ready if that works.

        A failure is logged and leaves the server alive but not ready, as `/readyz` then says.
        """
        for name in self._preloaded:
            try:
                pair, *_ = self.router.routes.named(name).languages.pairs()
                call = EngineCall(self.router.route(*pair, name), WARM_UP_TEXT, EngineRequest())
                [outcome] = await self.run([call])
            except Exception:
                logger.exception("%s failed to translate its warm-up sentence; the server is not ready", name)
                return
            if isinstance(outcome, InputError):
                logger.error("%s rejected its warm-up sentence (%s); the server is not ready", name, outcome)
                return
        self.is_ready = True
        logger.info("ready; loaded models: %s", ", ".join(self._preloaded) or "none")


async def _outcome(future: Future[RoutedTranslation]) -> Outcome:
    """Return a text's translation, or the error that concerns this text alone."""
    try:
        return await asyncio.wrap_future(future)
    except InputError as error:
        if error.field != "text":
            raise
        return error


@dataclass(slots=True)
class _SubmittedCalls:
    """Futures that a thread appends while the event loop may cancel them."""

    futures: list[Future[RoutedTranslation]] = field(default_factory=list)
    is_cancelled: bool = False

    async def outcomes(self) -> list[Outcome]:
        return await asyncio.gather(*map(_outcome, self.futures))

    def cancel(self) -> None:
        """Cancel what is not done."""
        self.is_cancelled = True
        for future in self.futures:
            future.cancel()
