"""Search for the pairs of a memory whose sources are similar to a text."""

import time
from collections.abc import Iterable, Iterator, Sequence

from rapidfuzz import fuzz, process

from service.memories.pairs import MemoryMatch, SegmentPair, normalise

MIN_SCORE = 0.85
MAX_SEARCHED_CHARACTERS = 2000
"""Maximum length of a text for which similar ones are searched: the time grows with its square."""
_CHUNK_PAIRS = 500
"""Maximum number of pairs that are compared at a time. Between two chunks, other threads run."""


class SimilarityIndex:
    """All pairs of a memory by the length of their sources: similar ones have about the same length."""

    def __init__(self, pairs: Iterable[SegmentPair]) -> None:
        self._num_pairs = 0
        self._by_length: dict[int, tuple[list[str], list[SegmentPair]]] = {}
        for pair in pairs:
            source = normalise(pair.source)
            sources, found = self._by_length.setdefault(len(source), ([], []))
            sources.append(source)
            found.append(pair)
            self._num_pairs += 1

    def __len__(self) -> int:
        return self._num_pairs

    def search(self, text: str, limit: int) -> tuple[MemoryMatch, ...]:
        """Return up to `limit` pairs with similar but not equal sources, the most similar first.

        The score is the normalised indel similarity: twice the number of characters in common, in order,
        divided by the lengths of both.
        """
        wanted = normalise(text)
        if not wanted or len(wanted) > MAX_SEARCHED_CHARACTERS:
            return ()
        best: list[MemoryMatch] = []
        for sources, pairs in self._chunks(len(wanted)):
            found = process.extract(
                wanted, sources, scorer=fuzz.ratio, score_cutoff=100 * MIN_SCORE, limit=limit + 1
            )
            if found:
                best += [
                    MemoryMatch(pairs[i].source, pairs[i].target, round(score / 100, 4))
                    for source, score, i in found
                    if source != wanted
                ]
                best = sorted(best, key=lambda match: (-match.score, match.source))[:limit]
            time.sleep(0)  # lets another thread have the interpreter, which `extract` does not
        return tuple(best)

    def _chunks(self, length: int) -> Iterator[tuple[Sequence[str], Sequence[SegmentPair]]]:
        # 2 * min / (a + b) bounds the score, so that the shorter has at least this part of the longer.
        part = MIN_SCORE / (2 - MIN_SCORE)
        for each in range(int(length * part), int(length / part) + 2):
            sources, pairs = self._by_length.get(each, ((), ()))
            for start in range(0, len(sources), _CHUNK_PAIRS):
                yield sources[start : start + _CHUNK_PAIRS], pairs[start : start + _CHUNK_PAIRS]
