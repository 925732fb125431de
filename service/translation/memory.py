"""Matches of a request's texts in a translation memory, found without blocking the event loop."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from dragoman.types import Pair
from service.accounts.errors import StoreError
from service.accounts.keys import Caller
from service.memories.memory_service import MemoryService
from service.memories.store import IMPORT_S, Memory
from service.settings.groups import LimitSettings
from service.translation.limits import check_limits
from service.translation.request import AUTO, TranslationRequest
from service.work.fair_slots import SlotsOfLoop
from service.work.shares import current_client
from service.work.threads import run_in_thread, run_stoppable

MAX_THRESHOLD = 100
"""Similarity in per cent of equal texts."""
logger = logging.getLogger(__name__)

_searching = SlotsOfLoop(2, 1)
"""Searches for similar pairs at the same time, one of each client: each takes the interpreter for long."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory of a request, and its use."""

    memory_id: str
    max_similar: int
    """Maximum number of similar pairs for each text."""
    threshold: float = 1.0
    """Similarity from which a pair is used that differs only in numbers and placeholders."""


async def apply_memory(
    request: TranslationRequest,
    use: MemoryUse,
    caller: Caller,
    memories: MemoryService,
    limits: LimitSettings,
) -> TranslationRequest:
    """Return a request with its matches, and with the languages of the memory if it names none.

    Raises:
        TextsTooLong: there are more texts or characters than a request may carry.
        UnknownMemory: the caller has no such memory.
        MemoryInvalid: it is for other languages, or similar pairs are wanted for too many texts.
        StoreError: the database cannot be used.
    """
    check_limits(request.texts, limits, request.options.decoding.target_prefix)

    def find(is_cancelled: Callable[[], bool] = lambda: False) -> TranslationRequest:
        memory = memories.store.get(caller.key_id, use.memory_id)
        pair = pair_of_texts(memory, request.source, request.target)
        matches = memories.find_matches(memory, request.texts, use.max_similar, is_cancelled, use.threshold)
        return replace(request, source=pair.source, target=pair.target, matches=matches)

    if not use.max_similar and use.threshold >= 1:
        return await run_in_thread(find)
    async with _searching.get().hold(current_client.get(), request.num_characters):
        return await run_stoppable(lambda stop: find(stop.is_set))


def pair_of_texts(memory: Memory, source: str | None, target: str | None) -> Pair:
    """Return the languages of texts: those of their memory where they are open. Raises MemoryInvalid."""
    named = None if (source or AUTO).lower() == AUTO else source
    memory.check_pair(named, target)
    return Pair(named or memory.pair.source, target or memory.pair.target)


async def keep_removing_leftovers(memories: MemoryService) -> None:
    """Remove what killed processes have left of memories, at once and from time to time, until cancelled."""
    while True:
        try:
            await run_in_thread(lambda: memories.store.remove_leftovers(datetime.now(UTC)))
        except StoreError as error:
            logger.error("cannot remove incomplete memories: %s", error)  # noqa: TRY400 -- a traceback adds nothing
        await asyncio.sleep(IMPORT_S)
