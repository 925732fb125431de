"""Alignment of source and target pieces: IBM Model 1, learned by EM, then one best link per target token.

Brown, Della Pietra, Della Pietra and Mercer, "The Mathematics of Statistical Machine Translation: Parameter
Estimation", Computational Linguistics 19(2), 1993, section 4.1: every target piece is the translation of one
piece of its source, or of none, whatever their positions. EM estimates t(target | source).

Occurrences (see `occurrences`) take four bytes each in memory. 300 million of them, half a million pairs of
mixed text, take 3.5 GB at the peak and four minutes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from export.shortlist.pairs import TokenPairs, occurrences, spans


@dataclass(frozen=True, slots=True)
class Links:
    """L distinct links of a source piece to a target piece, ascending by source piece, then target piece."""

    source_ids: NDArray[np.int64]
    target_ids: NDArray[np.int64]
    num_tokens: NDArray[np.int64]
    """Number of target tokens that this link explains best in their sentence; at least 1."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Occurrences in some pairs; those of one target token are adjacent."""

    link: NDArray[np.int32]
    """Index of the distinct link of each occurrence."""
    starts: NDArray[np.int64]
    """Index of each target token's first occurrence."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(self.starts, append=len(self.link))


def link_pieces(pairs: TokenPairs, source_vocab: int, target_vocab: int, iterations: int) -> Links:
    """Learn t(target | source), then assign each target token to one piece of its source.

    It is the source piece with the highest expected count of the target piece per occurrence. A candidate has
    to be on one list only, so a token is not shared among pieces.

    Args:
        pairs: pairs with ids below the vocabulary sizes.
        source_vocab: size of the source vocabulary.
        target_vocab: size of the target vocabulary.
        iterations: rounds of EM.
    """
    keys, chunks = _index_links(pairs, source_vocab, target_vocab)
    sources, targets = np.divmod(keys, target_vocab)
    steps = (iterations + 1) * len(chunks)
    with tqdm(total=steps, desc="aligning", unit="chunk", mininterval=1) as bar:
        probabilities = expected = np.ones(len(keys))  # all equally likely
        for _ in range(iterations):
            expected = np.zeros(len(keys))
            for chunk in chunks:
                _add_expected(chunk, probabilities, expected)
                bar.update()
            probabilities = expected / np.bincount(sources, expected, source_vocab + 1)[sources]
        num_pieces = np.bincount(pairs.sources.ids, minlength=source_vocab)
        is_real = sources < source_vocab
        rates = np.full(len(keys), -1.0)  # below any other: the empty source piece has no list
        rates[is_real] = expected[is_real] / num_pieces[sources[is_real]]
        num_tokens = np.zeros(len(keys), np.int64)
        for chunk in chunks:
            np.add.at(num_tokens, _best_links(chunk, rates), 1)
            bar.update()
    is_kept = is_real & (num_tokens > 0)
    return Links(sources[is_kept], targets[is_kept], num_tokens[is_kept])


def _add_expected(chunk: _Chunk, probabilities: NDArray[np.float64], expected: NDArray[np.float64]) -> None:
    """Run the E step: share each target token among its source's pieces."""
    shares = probabilities[chunk.link]
    shares /= np.repeat(np.add.reduceat(shares, chunk.starts), chunk.lengths)
    np.add.at(expected, chunk.link, shares)


def _best_links(chunk: _Chunk, rates: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the best link of each target token, the first one of several."""
    of_occurrence = rates[chunk.link]
    best = np.repeat(np.maximum.reduceat(of_occurrence, chunk.starts), chunk.lengths)
    positions = np.flatnonzero(of_occurrence == best)
    tokens = np.searchsorted(chunk.starts, positions, side="right")
    is_first = np.diff(tokens, prepend=0) > 0
    return chunk.link[positions[is_first]]


def _index_links(
    pairs: TokenPairs, source_vocab: int, target_vocab: int
) -> tuple[NDArray[np.int64], list[_Chunk]]:
    """Return distinct links as source * target_vocab + target, ascending, and all occurrences by link."""
    found: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]] = []
    for start, stop in tqdm(spans(pairs), desc="indexing", unit="chunk", mininterval=1):
        keys, starts = occurrences(pairs, start, stop, source_vocab, target_vocab)
        distinct, inverse = np.unique(keys, return_inverse=True)
        found.append((distinct, inverse.astype(np.int32), starts))
    all_keys = np.unique(np.concatenate([np.empty(0, np.int64), *(distinct for distinct, _, _ in found)]))
    chunks: list[_Chunk] = []
    while found:  # frees each one after its use: they are most of the memory
        own_keys, index, token_starts = found.pop(0)
        chunks.append(_Chunk(np.searchsorted(all_keys, own_keys).astype(np.int32)[index], token_starts))
    return all_keys, chunks
