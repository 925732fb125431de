"""The use cases of translation memories that all APIs share."""

from collections.abc import Callable, Sequence

from dragoman.pipeline.pacing import LARGE_CHARACTERS, pause_of
from dragoman.weighted_cache import WeightedCache
from service.memories.errors import MemoryInvalid
from service.memories.pairs import TextMatches, fitting_targets
from service.memories.repair import find_repaired
from service.memories.similarity import MIN_SCORE, SimilarityIndex
from service.memories.store import Memory, MemoryStore

MAX_CACHED_BYTES = 256 * 2**20
"""Maximum size of all cached indexes; one larger index is kept alone."""
MAX_SEARCHED_TEXTS = 100
"""Maximum number of texts of a request for which similar ones are searched."""
MAX_COMPARISONS = 400_000_000_000
"""Maximum number of pairs of characters that may be compared for a request: a few seconds of CPU time."""


class MemoryService:
    """Finds matches for texts, and caches indexes by version. Safe to use from several threads.

    Methods wait for the database.
    """

    def __init__(self, store: MemoryStore) -> None:
        self.store = store
        self._indexes: WeightedCache[tuple[str, int], SimilarityIndex] = WeightedCache(
            MAX_CACHED_BYTES, lambda index: index.size_bytes
        )

    def find_matches(
        self,
        memory: Memory,
        texts: Sequence[str],
        max_similar: int,
        is_cancelled: Callable[[], bool] = lambda: False,
        threshold: float = 1.0,
    ) -> tuple[TextMatches, ...]:
        """Return what a memory has for each text.

        Args:
            memory: the memory.
            texts: texts in its source language.
            max_similar: maximum number of similar pairs for a text; 0 searches for none.
            is_cancelled: called every few milliseconds; once it returns true, the search ends.
            threshold: similarity from which a pair is used that differs only in numbers and placeholders.

        Raises:
            MemoryInvalid: similar pairs are wanted for more texts, or need more comparisons, than a request
                may have.
            TranslationCancelled: `is_cancelled` returned true.
            StoreError: the database cannot be used.
        """
        if max_similar and len(texts) > MAX_SEARCHED_TEXTS:
            problem = f"must be 0 for more than {MAX_SEARCHED_TEXTS} texts; the request has {len(texts)}"
            raise MemoryInvalid("memory_matches", problem)
        targets = exact_targets(self.store, memory.id, texts)
        is_exact = not max_similar and threshold >= 1
        if is_exact or all(target is not None for target in targets):
            return tuple(TextMatches(target) for target in targets)
        pause = pause_of(LARGE_CHARACTERS, is_cancelled)
        index = self._indexes.get(
            (memory.id, memory.version), lambda: SimilarityIndex(self.store.read_pairs(memory.id), pause)
        )
        wanted = [text for text, target in zip(texts, targets, strict=True) if target is None]
        least = min(threshold, MIN_SCORE)
        if (comparisons := sum(index.num_comparisons(text, least) for text in wanted)) > MAX_COMPARISONS:
            problem = f"needs {comparisons:.1e} comparisons of characters with the pairs of the memory"
            limit = f"the limit is {MAX_COMPARISONS:.1e} per request; send fewer or shorter texts, or 0"
            raise MemoryInvalid("memory_matches", f"{problem}; {limit}")

        def match(text: str) -> TextMatches:
            if threshold < 1 and (found := find_repaired(text, index, threshold, memory.pair, pause)):
                return found
            return TextMatches(None, index.search(text, max_similar, pause) if max_similar else ())

        return tuple(
            match(text) if target is None else TextMatches(target)
            for text, target in zip(texts, targets, strict=True)
        )


def exact_targets(store: MemoryStore, memory_id: str, texts: Sequence[str]) -> list[str | None]:
    """Return for each text the translation of an equal source in a memory; None if none fits."""
    return fitting_targets(texts, store.find_equal(memory_id, texts))
