"""Search for the pairs of a memory whose sources are similar to a text."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence

from rapidfuzz import fuzz, process

from dragoman.pipeline.pacing import never_pause
from service.memories.pairs import MemoryMatch, SegmentPair, normalise

MIN_SCORE = 0.85
LEAST_SCORE = 0.5
"""Similarity below which sources have nothing to do with each other, and are not searched for."""
MAX_SEARCHED_CHARACTERS = 2000
"""Maximum length of a text for which similar ones are searched: the time grows with its square."""
_CHUNK_PAIRS, _CHUNK_COMPARISONS = 500, 50_000_000
"""Maximum number of pairs that are compared at a time, in a few milliseconds, and of their comparisons."""
_PAIR_BYTES = 200
"""Size of a pair in memory without its texts."""


class SimilarityIndex:
    """All pairs of a memory by the length of their sources: similar ones have about the same length."""

    def __init__(self, pairs: Iterable[SegmentPair], pause: Callable[[], None] = never_pause) -> None:
        """Index pairs.

        Args:
            pairs: all pairs.
            pause: called after each; it may raise an error that ends the work.
        """
        self.size_bytes = 0
        """Size of the index in memory, about."""
        self._by_length: dict[int, tuple[list[str], list[SegmentPair]]] = {}
        for pair in pairs:
            source = normalise(pair.source)
            texts = {pair.source, pair.target, source}
            if source == pair.source:
                source = pair.source  # kept once
            sources, found = self._by_length.setdefault(len(source), ([], []))
            sources.append(source)
            found.append(pair)
            self.size_bytes += _PAIR_BYTES + sum(map(sys.getsizeof, texts))
            pause()

    def num_comparisons(self, text: str, min_score: float = MIN_SCORE) -> int:
        """Return how many pairs of characters a search for a text may compare: the measure of its time."""
        wanted = _searched(text)
        return len(wanted) * sum(
            length * len(self._by_length[length][0])
            for length in _similar_lengths(len(wanted), min_score)
            if length in self._by_length
        )

    def search(
        self, text: str, limit: int, pause: Callable[[], None] = never_pause, min_score: float = MIN_SCORE
    ) -> tuple[MemoryMatch, ...]:
        """Return up to `limit` pairs with similar but not equal sources, the most similar first.

        The score is the normalised indel similarity: twice the number of characters in common, in order,
        divided by the lengths of both.

        Args:
            text: text in the language of the sources.
            limit: maximum number of pairs.
            pause: called every few milliseconds, so that other threads run; it may raise an error.
            min_score: minimum similarity; `LEAST_SCORE` if it is lower.
        """
        wanted = _searched(text)
        best: list[MemoryMatch] = []
        least = 100 * max(min_score, LEAST_SCORE)
        for sources, pairs in self._chunks(len(wanted), min_score):
            found = process.extract(wanted, sources, scorer=fuzz.ratio, score_cutoff=least, limit=limit + 1)
            if found:
                best += [
                    MemoryMatch(pairs[i].source, pairs[i].target, round(score / 100, 4))
                    for source, score, i in found
                    if source != wanted
                ]
                best = sorted(best, key=lambda match: (-match.score, match.source))[:limit]
            pause()
        return tuple(best)

    def _chunks(
        self, length: int, min_score: float = MIN_SCORE
    ) -> Iterator[tuple[Sequence[str], Sequence[SegmentPair]]]:
        for each in _similar_lengths(length, min_score):
            sources, pairs = self._by_length.get(each, ((), ()))
            size = max(1, min(_CHUNK_PAIRS, _CHUNK_COMPARISONS // max(1, length * each)))
            for start in range(0, len(sources), size):
                yield sources[start : start + size], pairs[start : start + size]


def _searched(text: str) -> str:
    """Return a text as it is searched for; empty if it is not."""
    wanted = normalise(text)
    return wanted if len(wanted) <= MAX_SEARCHED_CHARACTERS else ""


def _similar_lengths(length: int, min_score: float) -> range:
    # 2 * min / (a + b) bounds the score, so that the shorter has at least this part of the longer.
    least = max(min_score, LEAST_SCORE)
    part = least / (2 - least)
    return range(int(length * part), int(length / part) + 2) if length else range(0)
