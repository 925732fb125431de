"""Translate texts for every API: limits, quota, detection, markup, and then the engine."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial

import anyio

from dragoman import EngineRequest, InputError
from dragoman.pipeline.pacing import pause_of
from dragoman.routing.routes import Route
from dragoman.scheduling.fair_queue import Flow
from dragoman.types import SegmentTranslation
from service.accounts.accounts import Accounts
from service.accounts.errors import StoreError
from service.accounts.keys import Caller
from service.accounts.usage import Charge
from service.settings.groups import LimitSettings
from service.telemetry.request_record import record_texts
from service.translation.cache_partitions import CachePartitioning
from service.translation.coalescing import Coalescer
from service.translation.detection import detect
from service.translation.inference import WARM_UP_TEXT, EngineCall, Inference, Outcome
from service.translation.limits import check_limits
from service.translation.named_source import doubt_sources, is_doubtful
from service.translation.planned_text import PlannedText, TextsRejectedError, known_text, plan_one, results_of
from service.translation.request import (
    AUTO,
    UNDETERMINED,
    DetectedSource,
    TranslationRequest,
    TranslationResult,
)
from service.translation.source_language import DetectionMode
from service.translation.streaming import Delivery, Progress, SegmentDone, StreamDetail, with_callbacks
from service.work.threads import run_in_thread

BRIEF_TEXTS = 4
BRIEF_CHARACTERS = 1000
"""A request of no more than this is prepared within about half a millisecond."""
LONG_CHARACTERS = 10_000
"""Translations of requests from this length on are judged and put together on a thread."""

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class TranslationService:
    """Translates, scores and detects. For one event loop."""

    inference: Inference
    accounts: Accounts
    limits: LimitSettings
    detection: DetectionMode
    cache_sharing: CachePartitioning = CachePartitioning.PER_KEY
    _sharing: Coalescer[list[TranslationResult]] = field(default_factory=Coalescer)

    async def warm_up(self) -> None:
        """Load what the first requests would wait for; see `Inference.warm_up`."""
        if self.detection is DetectionMode.ON:
            among = self._served()
            await self.inference.run_in_thread(lambda: detect(WARM_UP_TEXT, among))
        await self.inference.warm_up()

    async def translate(self, request: TranslationRequest, caller: Caller) -> list[TranslationResult]:
        """Return a result for each text, in order.

        An equal request of the same caller in the meantime shares the work, and is charged once. A request
        that fails or is cancelled is not charged.

        Args:
            request: texts and options.
            caller: who is charged for their characters.

        Raises:
            QuotaExceeded: the caller has too few characters left.
            TextsTooLong: there are more texts or characters than a request may carry.
            TextsRejectedError: texts cannot be translated; all such are named.
            DragomanError: see `Inference.run`.
        """
        self._accept(request.texts, request.options.decoding.target_prefix)
        if request.options.decoding.sampling is not None and request.options.decoding.sampling.seed is None:
            return await self._translate(request, caller)
        key = (caller.key_id, request)
        return await self._sharing.join(key, lambda: self._translate(request, caller), request.linger_s)

    async def leave_unchanged(self, request: TranslationRequest, caller: Caller) -> list[TranslationResult]:
        """Return texts unchanged that are in the target language already, as their caller says.

        They are charged, like texts whose detected language is the target language.

        Raises:
            TextsTooLong: there are more texts or characters than a request may carry.
            QuotaExceeded: the caller has too few characters left.
        """
        self._accept(request.texts)
        source, target = request.source or UNDETERMINED, request.target or UNDETERMINED
        async with self.charged(request.num_characters, caller):
            return [TranslationResult(text, source=source, target=target) for text in request.texts]

    async def stream(
        self, request: TranslationRequest, caller: Caller, detail: StreamDetail
    ) -> AsyncGenerator[Progress | list[TranslationResult]]:
        """Yield progress of a request of plain texts, and at last the results.

        Arguments and errors are those of `translate`. Ending the iteration cancels the work; segments of
        which a part was yielded stay charged.
        """
        self._accept(request.texts, request.options.decoding.target_prefix)
        async with self.charged(request.num_characters, caller) as delivery:
            plans = await self.inference.run_in_thread(
                lambda: self._plan_all(request, caller), request.num_characters
            )
            results: list[TranslationResult] = []
            async with aclosing(self._follow(plans, detail)) as followed:
                async for progress in followed:
                    if isinstance(progress, list):
                        results = progress
                    else:
                        delivery.add(progress)
                        yield progress
        # After the charge: a caller that stops here must not be refunded.
        yield await self._doubt_sources(request.texts, results)

    async def score(
        self, pairs: Sequence[tuple[str, str]], route: Route, caller: Caller
    ) -> list[SegmentTranslation]:
        """Score each source and its given target; both are charged.

        Raises:
            TextsTooLong: there are more texts or characters than a request may carry.
            QuotaExceeded: the caller has too few characters left.
            InputError: naming the pair and which of its texts cannot be read.
            DragomanError: see `Inference.run`.
        """
        texts = [text for pair in pairs for text in pair]
        self._accept(texts)
        async with self.charged(sum(map(len, texts)), caller):
            return await self.inference.score(route, pairs, self._sender(caller))

    async def detect(self, texts: Sequence[str], caller: Caller) -> list[list[DetectedSource]]:
        """Return for each text the served languages that it may be in, the most likely first.

        Raises:
            TextsTooLong: there are more texts or characters than a request may carry.
            InputError: no language is detected here.
            QuotaExceeded: the caller has too few characters left.
        """
        self.detection.is_wanted(AUTO)
        self._accept(texts)
        among = self._served()
        async with self.charged(sum(map(len, texts)), caller):
            return await self.inference.run_in_thread(
                lambda: [detect(text, among) for text in texts], sum(map(len, texts))
            )

    def _accept(self, texts: Sequence[str], target_prefix: str = "") -> None:
        check_limits(texts, self.limits, target_prefix)
        record_texts(texts)

    def _served(self) -> list[str]:
        """Return the codes of all languages."""
        routes = self.inference.router.routes
        return sorted({*routes.sources(), *routes.targets()})

    async def _follow(
        self, plans: Sequence[PlannedText], detail: StreamDetail
    ) -> AsyncGenerator[Progress | list[TranslationResult]]:
        """Yield segments as soon as they and all before them are right."""
        events: asyncio.Queue[Progress | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def notify(progress: Progress) -> None:
            loop.call_soon_threadsafe(events.put_nowait, progress)

        calls = [
            with_callbacks(call, plan, item, detail, notify) if len(plan.calls) == 1 else call
            for item, plan in enumerate(plans)
            for call in plan.calls
        ]
        working = asyncio.ensure_future(self._run(plans, calls))
        working.add_done_callback(lambda _: events.put_nowait(None))
        try:
            while (progress := await events.get()) is not None:
                yield progress
            results = await working
            for item, (plan, result) in enumerate(zip(plans, results, strict=True)):
                segments = [segment for part in result.parts for segment in part.translation.segments]
                for number in range(plan.num_streamed, len(segments)):
                    yield SegmentDone(item, number, segments[number])
            yield results
        finally:
            working.cancel()

    async def _run(
        self, plans: Sequence[PlannedText], calls: Sequence[EngineCall]
    ) -> list[TranslationResult]:
        """Make calls, which may have callbacks, and further ones for what is not right then."""
        outcomes = await self.inference.run(calls)
        return await self._finish(plans, outcomes, sum(len(call.text) for call in calls))

    async def _finish(
        self, plans: Sequence[PlannedText], outcomes: Sequence[Outcome], num_characters: int
    ) -> list[TranslationResult]:
        """Give the plans their outcomes, and make further calls until none is left; return the results.

        Much text is judged and put together on a thread.
        """
        while True:
            if num_characters < LONG_CHARACTERS:
                calls = _take_outcomes(plans, outcomes)
            else:
                take = partial(_take_outcomes, plans, outcomes)
                calls = await self.inference.run_in_thread(take, num_characters)
            if not calls:
                break
            outcomes = await self.inference.run(calls)
        if num_characters < LONG_CHARACTERS:
            return results_of(plans)
        return await self.inference.run_in_thread(lambda: results_of(plans), num_characters)

    async def _translate(self, request: TranslationRequest, caller: Caller) -> list[TranslationResult]:
        plans: list[PlannedText] = []

        def plan() -> list[EngineCall]:
            plans.extend(self._plan_all(request, caller))
            return [call for plan in plans for call in plan.calls]

        # Brief work begins while its charge waits for the disk, and ends if this is refused.
        is_brief = self._is_brief(request)
        begun = asyncio.ensure_future(self.inference.run_planned(plan, None)) if is_brief else None
        try:
            async with self.charged(request.num_characters, caller):
                outcomes = await (begun or self.inference.run_planned(plan, request.num_characters))
                results = await self._finish(plans, outcomes, request.num_characters)
        finally:
            if begun is not None:
                begun.cancel()
                # asyncio logs errors that nobody takes.
                begun.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await self._doubt_sources(request.texts, results)

    async def _doubt_sources(
        self, texts: Sequence[str], results: list[TranslationResult]
    ) -> list[TranslationResult]:
        """Return the results, with the language of each text that is certainly not in the one named."""
        if self.detection is DetectionMode.OFF or not any(map(is_doubtful, texts, results)):
            return results
        served = self._served()
        return await self.inference.run_in_thread(lambda: doubt_sources(texts, results, served))

    def _is_brief(self, request: TranslationRequest) -> bool:
        """Return whether planning it takes less time than changing threads."""
        return (
            len(request.texts) <= BRIEF_TEXTS
            and request.num_characters + len(request.options.decoding.target_prefix) <= BRIEF_CHARACTERS
            and request.markup is None
            and request.terminology is None  # an index of many terms takes long
            and not self.detection.is_wanted(request.source)
        )

    def _plan_all(self, request: TranslationRequest, caller: Caller) -> list[PlannedText]:
        """Raise a TextsRejectedError that names all texts at fault."""
        sender = self._sender(caller)
        router, detection = self.inference.router, self.detection
        plans, problems, pause = [], [], pause_of(request.num_characters)
        if not request.texts and not detection.is_wanted(request.source):
            # No text would find a pair amiss.
            router.route(request.source, request.target, request.options.model)
        for item, text in enumerate(request.texts):
            pause()
            matches = request.matches[item] if request.matches else None
            known = matches and known_text(matches, request)
            try:
                planned = known or plan_one(text, request, sender, router, detection)
                planned.matches = matches
                plans.append(planned)
            except InputError as error:
                if error.field != "text":  # it is the same for all texts
                    raise
                problems.append((item, error.problem))
        if problems:
            raise TextsRejectedError(problems)
        return plans

    def _sender(self, caller: Caller) -> EngineRequest:
        """Return a request that shares queue and cache with the caller's other requests only."""
        partition = self.cache_sharing.partition_of(caller.key_id)
        return EngineRequest(flow=Flow(caller.key_id), cache_partition=partition)

    @asynccontextmanager
    async def charged(self, characters: int, caller: Caller) -> AsyncIterator[Delivery]:
        """Charge before the block, so that a quota holds for any number of concurrent requests.

        If the block fails or is cancelled, what it has not delivered is refunded.
        """
        delivery = Delivery()
        if caller.key_id is None:
            yield delivery
            return
        charges: list[Charge] = []
        try:
            await run_in_thread(lambda: charges.append(self.accounts.charge(caller, characters)))
            yield delivery
        except BaseException:
            for charge in charges:
                rest = replace(charge, characters=max(characters - delivery.num_characters, 0))
                # Shielded: a cancelled request must not leave the caller charged.
                with anyio.CancelScope(shield=True):
                    await run_in_thread(partial(self._refund, rest))
            raise

    def _refund(self, charge: Charge) -> None:
        try:
            self.accounts.refund(charge)
        except StoreError as error:  # the caller gets the first failure
            logger.error("cannot refund %d characters to key %s: %s", charge.characters, charge.key_id, error)  # noqa: TRY400 -- a traceback says no more


def _take_outcomes(plans: Sequence[PlannedText], outcomes: Sequence[Outcome]) -> list[EngineCall]:
    """Give the plans the outcomes of their calls; return the next calls."""
    remaining = iter(outcomes)
    for plan in plans:
        plan.take_outcomes(remaining)
    return [call for plan in plans for call in plan.calls]
