"""Many sources and targets as token ids in flat arrays."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

CHUNK_OCCURRENCES = 4_000_000
"""Number of occurrences processed at a time; they take about 200 MB."""


@dataclass(frozen=True, slots=True)
class Sequences:
    """N sequences of ids: sequence n is ids[offsets[n]:offsets[n + 1]]."""

    ids: NDArray[np.int32]
    offsets: NDArray[np.int64]
    """int64 [N + 1], ascending from 0."""

    @classmethod
    def of(cls, sequences: Iterable[Sequence[int]]) -> "Sequences":
        """Concatenate sequences of ids."""
        parts = [np.asarray(sequence, np.int32) for sequence in sequences]
        lengths = np.fromiter((len(part) for part in parts), np.int64, len(parts))
        ids = np.concatenate(parts) if parts else np.empty(0, np.int32)
        return cls(ids, np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        return (self.ids[start:stop] for start, stop in pairwise(self.offsets.tolist()))

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.offsets)


@dataclass(frozen=True, slots=True)
class TokenPairs:
    """Sources and their targets.

    Raises:
        ValueError: the numbers of sources and targets differ.
    """

    sources: Sequences
    targets: Sequences

    def __post_init__(self) -> None:
        if len(self.sources) != len(self.targets):
            raise ValueError(f"{len(self.sources)} sources but {len(self.targets)} targets")

    @classmethod
    def of(cls, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> "TokenPairs":
        """Concatenate pairs of source ids and target ids."""
        return cls(Sequences.of(source for source, _ in pairs), Sequences.of(target for _, target in pairs))

    def __len__(self) -> int:
        return len(self.sources)


def spans(pairs: TokenPairs) -> list[tuple[int, int]]:
    """Return runs of pairs, start to stop, of about CHUNK_OCCURRENCES each; a pair is never split."""
    sizes = (pairs.sources.lengths + 1) * pairs.targets.lengths
    chunk = np.cumsum(sizes) // CHUNK_OCCURRENCES
    bounds = np.flatnonzero(np.diff(chunk, prepend=-1)).tolist()
    return [(start, stop) for start, stop in pairwise([*bounds, len(pairs)]) if sizes[start:stop].any()]


def occurrences(
    pairs: TokenPairs, start: int, stop: int, source_vocab: int, target_vocab: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return every target token of pairs start to stop with every piece of its source.

    Each source begins with one extra piece, the empty one, with the id `source_vocab`.

    Returns:
        Per occurrence: source piece * target_vocab + target piece; those of a target token are adjacent. Per
        target token: the index of its first occurrence.
    """
    num_pieces = pairs.sources.lengths[start:stop] + 1
    first = pairs.sources.offsets[start]
    source_ids = pairs.sources.ids[first : pairs.sources.offsets[stop]].astype(np.int64)
    pieces = np.insert(source_ids, pairs.sources.offsets[start:stop] - first, source_vocab)
    piece_starts = np.cumsum(num_pieces) - num_pieces

    num_tokens = pairs.targets.lengths[start:stop]
    tokens = pairs.targets.ids[pairs.targets.offsets[start] : pairs.targets.offsets[stop]]
    pieces_per_token = np.repeat(num_pieces, num_tokens)  # per target token: pieces of its source
    starts = np.cumsum(pieces_per_token) - pieces_per_token
    shift = np.repeat(np.repeat(piece_starts, num_tokens) - starts, pieces_per_token)
    return pieces[np.arange(len(shift)) + shift] * target_vocab + np.repeat(tokens, pieces_per_token), starts
