"""The use cases of translation memories that all APIs share."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from datetime import UTC, datetime

from dragoman.types import Pair
from service.accounts.keys import Caller
from service.memories.errors import MemoryInvalid
from service.memories.pairs import MemoryMatch, SegmentPair, TextMatches, fitting_targets
from service.memories.similarity import SimilarityIndex
from service.memories.store import Memory, MemoryStore

MAX_CACHED_PAIRS = 500_000
"""Maximum number of pairs of all cached indexes; one larger index is kept alone."""
MAX_SEARCHED_TEXTS = 100
"""Maximum number of texts of a request for which similar ones are searched."""


class MemoryService:
    """Finds matches for texts, and caches indexes by version. Safe to use from several threads.

    Methods wait for the database.
    """

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self._indexes: OrderedDict[tuple[str, int], SimilarityIndex] = OrderedDict()
        self._lock = threading.Lock()
        self._searching = threading.Lock()
        """One search at a time: other requests need the interpreter, too."""

    def now(self) -> datetime:
        """Return the time at which a memory is created."""
        return datetime.now(UTC)

    def find_matches(self, memory: Memory, texts: Sequence[str], max_similar: int) -> tuple[TextMatches, ...]:
        """Return what a memory has for each text.

        Args:
            memory: the memory.
            texts: texts in its source language.
            max_similar: maximum number of similar pairs for a text; 0 searches for none.

        Raises:
            MemoryInvalid: similar pairs are wanted for more than `MAX_SEARCHED_TEXTS` texts.
            StoreError: the database cannot be used.
        """
        if max_similar and len(texts) > MAX_SEARCHED_TEXTS:
            problem = f"must be 0 for more than {MAX_SEARCHED_TEXTS} texts; the request has {len(texts)}"
            raise MemoryInvalid("memory_matches", problem)
        targets = exact_targets(self.store, memory.id, texts)
        if not max_similar or all(target is not None for target in targets):
            return tuple(TextMatches(target) for target in targets)
        index = self._index(memory)
        return tuple(
            TextMatches(target, () if target is not None else self._search(index, text, max_similar))
            for text, target in zip(texts, targets, strict=True)
        )

    def remove_leftovers(self) -> None:
        """Remove what deletions and imports of processes that were killed have left."""
        self.store.remove_leftovers(self.now())

    def suggest(self, caller: Caller, pair: Pair, suggested: SegmentPair) -> Memory:
        """Store a correction in the caller's memory of suggestions; see `MemoryStore.suggest`."""
        return self.store.suggest(caller.key_id, pair, suggested, self.now())

    def _search(self, index: SimilarityIndex, text: str, limit: int) -> tuple[MemoryMatch, ...]:
        with self._searching:
            return index.search(text, limit)

    def _index(self, memory: Memory) -> SimilarityIndex:
        key = memory.id, memory.version
        with self._lock:
            if (known := self._indexes.get(key)) is not None:
                self._indexes.move_to_end(key)
                return known
        index = SimilarityIndex(self.store.read_pairs(memory.id))
        with self._lock:
            for old in [old for old in self._indexes if old[0] == memory.id]:
                del self._indexes[old]
            self._indexes[key] = index
            while len(self._indexes) > 1 and sum(map(len, self._indexes.values())) > MAX_CACHED_PAIRS:
                self._indexes.popitem(last=False)
        return index


def exact_targets(store: MemoryStore, memory_id: str, texts: Sequence[str]) -> list[str | None]:
    """Return for each text the translation of an equal source in a memory; None if none fits."""
    return fitting_targets(texts, store.find_equal(memory_id, texts))
