"""Inference beside the event loop, and whether it has proved to work."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TypeVar

import anyio.to_thread
from anyio import CapacityLimiter

from dragoman import DecodingOptions, InputError, Priority
from dragoman.pipeline.pacing import LARGE_CHARACTERS
from dragoman.routing.pivot_translation import NO_CALLBACKS, Callbacks
from dragoman.routing.results import RoutedTranslation
from dragoman.routing.router import Router
from dragoman.routing.routes import Route
from dragoman.scheduling.fair_queue import Flow
from dragoman.types import SegmentTranslation

WARM_UP_TEXT = "Guten Morgen."
"""In German to models of any language: nobody reads what comes of it, and it takes the way of every text,
through tokenizer, encoder and decoder."""
MAX_PREPARING = 4
"""Requests whose texts are taken apart at the same time; more would only take turns. Of large ones it is one,
since each thread that does makes every step of the engine wait for the interpreter."""

logger = logging.getLogger(__name__)

Outcome = RoutedTranslation | InputError
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class EngineCall:
    """A text on its way through the engine."""

    route: Route
    text: str
    options: DecodingOptions
    priority: Priority = Priority.INTERACTIVE
    watch: Callbacks = NO_CALLBACKS
    flow: Flow = field(default_factory=Flow)
    """The request that it is part of; its owner is the key that pays for it."""


class Inference:
    """Hands texts to a router and awaits them, so that the event loop stays free."""

    def __init__(self, router: Router, timeout_s: float, preloaded: Sequence[str]) -> None:
        """Ready at once if there is nothing to warm up.

        Args:
            router: has the bundles.
            timeout_s: seconds that a request may take.
            preloaded: names of bundles that must have translated a sentence first.
        """
        self.router = router
        self.is_ready = not preloaded
        self._preloaded = tuple(preloaded)
        self._timeout_s = timeout_s
        self._preparing = CapacityLimiter(MAX_PREPARING)
        self._preparing_large = CapacityLimiter(1)

    async def run_in_thread(self, work: Callable[[], Result], num_characters: int = 0) -> Result:
        """Do what takes a processor's time off the event loop, where it would hold up every other request.

        Args:
            work: to be done on a thread.
            num_characters: that it is about.
        """
        is_large = num_characters >= LARGE_CHARACTERS
        limiter = self._preparing_large if is_large else self._preparing
        return await anyio.to_thread.run_sync(work, limiter=limiter)

    async def run(self, calls: Sequence[EngineCall], cache_partition: str = "") -> list[Outcome]:
        """Per text its translation or its error.

        Cancelled, or failed in one text, it gives all texts up. Known segments are those of the partition.

        Raises:
            InputError: an option is beyond the model's limits.
            Overloaded: there is no room for all texts.
            NoRoom: there is no room for the model.
            BundleError: the model cannot be opened.
            DeadlineExceeded: they were not done in time.
        """
        num_characters = sum(len(call.text) for call in calls)
        return await self.run_planned(lambda: calls, num_characters, cache_partition)

    async def run_planned(
        self, plan: Callable[[], Sequence[EngineCall]], num_characters: int, cache_partition: str = ""
    ) -> list[Outcome]:
        """The same, for errands that are made off the event loop, on the thread that hands them in.

        Every change of threads waits for the interpreter, which the engine's threads want as well.
        """
        request = _Request(cache_partition)
        try:
            await self.run_in_thread(lambda: self._submit(request, plan()), num_characters)
            return await request.outcomes()
        finally:
            request.give_up()

    async def run_at_once(self, calls: Sequence[EngineCall], cache_partition: str = "") -> list[Outcome]:
        """The same as `run`, taken apart on the event loop: for so few characters that it takes no longer
        than changing threads, of which every one has to wait for the interpreter. What cannot be taken is
        refused without waiting for those that can.
        """
        request = _Request(cache_partition)
        try:
            self._submit(request, calls)
            return await request.outcomes()
        finally:
            request.give_up()

    async def score(
        self, route: Route, pairs: Sequence[tuple[str, str]], flow: Flow, cache_partition: str = ""
    ) -> list[SegmentTranslation]:
        """What the model makes of each source and the target given for it; errors as `run` has them.

        Cancelled, or failed in one pair, it gives all up.
        """
        coming: list[Future[SegmentTranslation]] = []

        def submit() -> None:
            for item, (source, target) in enumerate(pairs):
                try:
                    scored = self.router.score(
                        route,
                        source,
                        target,
                        timeout_s=self._timeout_s,
                        flow=flow,
                        cache_partition=cache_partition,
                    )
                    coming.append(scored)
                except InputError as error:
                    raise InputError(error.field, error.problem, item) from error

        try:
            num_characters = sum(len(text) for pair in pairs for text in pair)
            await self.run_in_thread(submit, num_characters)
            return list(await asyncio.gather(*map(asyncio.wrap_future, coming)))
        finally:
            for future in coming:
                future.cancel()

    def _submit(self, request: "_Request", calls: Sequence[EngineCall]) -> None:
        for call in calls:
            try:
                future = self.router.follow(
                    call.route,
                    call.text,
                    call.options,
                    call.priority,
                    self._timeout_s,
                    call.watch,
                    flow=call.flow,
                    cache_partition=request.cache_partition,
                )
            except InputError as error:
                if error.field != "text":  # it is the same for all texts
                    raise
                future = Future()
                future.set_exception(error)
            request.submitted.append(future)
            if request.is_given_up:  # only now: whoever gave it up may have missed this one
                future.cancel()
                break

    async def warm_up(self) -> None:
        """Let every preloaded bundle translate one sentence, and be ready if that works.

        A failure is logged and leaves the server alive but not ready: whoever watches `/readyz` decides.
        """
        for name in self._preloaded:
            try:
                pair = next(self.router.routes.named(name).languages.pairs())
                route = self.router.route(*pair, name)
                [outcome] = await self.run([EngineCall(route, WARM_UP_TEXT, DecodingOptions())])
            except Exception:
                logger.exception(
                    "%s could not translate its warm-up sentence; the server stays not ready", name
                )
                return
            if isinstance(outcome, InputError):
                logger.error(
                    "%s refused its warm-up sentence (%s); the server stays not ready", name, outcome
                )
                return
        self.is_ready = True
        logger.info("ready; in memory: %s", ", ".join(self._preloaded) or "none")


async def _outcome(future: Future[RoutedTranslation]) -> Outcome:
    """A text's translation, or why just this text has none."""
    try:
        return await asyncio.wrap_future(future)
    except InputError as error:
        if error.field != "text":
            raise
        return error


@dataclass(slots=True)
class _Request:
    """Texts on their way: a thread appends while the event loop may give up."""

    cache_partition: str
    submitted: list[Future[RoutedTranslation]] = field(default_factory=list)
    is_given_up: bool = False

    async def outcomes(self) -> list[Outcome]:
        return await asyncio.gather(*map(_outcome, self.submitted))

    def give_up(self) -> None:
        """Cancel what is not done."""
        self.is_given_up = True
        for future in self.submitted:
            future.cancel()
