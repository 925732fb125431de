"""Endless batches as a pure function of seed and step, so that a resumed run sees the same batches."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import IterableDataset

from training.tokenised import TokenisedCorpus

ROUND_PAIRS = 200_000
"""Number of pairs that are drawn, sorted by length and cut into batches at a time."""

PairRef = tuple[int, int]
"""Corpus index, pair index."""


class Batch(NamedTuple):
    """The input of one step: B pairs, source length S and target length T, padded on the right.

    Ids are int64, masks are bool. This is a named tuple because Lightning moves tuples to the device but
    rejects frozen dataclasses.
    """

    source_ids: Tensor  # [B, S]
    source_mask: Tensor  # [B, S]
    target_in: Tensor  # [B, T], begins with the begin-of-sentence id
    target_out: Tensor  # [B, T], ends with the end-of-sentence id
    target_mask: Tensor  # [B, T]


@dataclass(frozen=True, slots=True)
class BatchSettings:
    """Settings for drawing pairs and cutting batches."""

    weights: tuple[float, ...]
    budget_tokens: int
    seed: int
    pad_id: int
    bos_id: int
    round_pairs: int = ROUND_PAIRS


class BatchStream(IterableDataset[Batch]):
    """Batches from number `first` on: rounds of weighted draws, each cut into batches of similar length.

    Each of several processes takes every `stride`-th batch.
    """

    def __init__(
        self, corpora: Sequence[TokenisedCorpus], plan: BatchSettings, first: int = 0, stride: int = 1
    ) -> None:
        self.corpora = corpora
        self.plan = plan
        self.first = first
        self.stride = stride

    def __iter__(self) -> Iterator[Batch]:
        for batch in itertools.islice(self.references(), 0, None, self.stride):
            yield self._collate(batch)

    def references(self) -> Iterator[list[PairRef]]:
        """Yield the pairs of each batch."""
        to_skip = self.first
        round_number = 0
        while True:
            batches = self._round(round_number)
            yield from batches[to_skip:]
            to_skip = max(0, to_skip - len(batches))
            round_number += 1

    def _round(self, number: int) -> list[list[PairRef]]:
        rng = np.random.default_rng([self.plan.seed, number])
        corpus_of, pair_of = self._draw(number)
        lengths = np.empty((len(corpus_of), 2), np.int64)
        for index, corpus in enumerate(self.corpora):
            is_here = corpus_of == index
            lengths[is_here] = corpus.lengths()[pair_of[is_here]]
        jitter = rng.random(len(lengths))
        # Sources get longer over one target length and shorter over the next: a batch that spans several
        # target lengths then has sources of similar lengths.
        source_rank = np.where(lengths[:, 1] % 2, lengths[:, 0], -lengths[:, 0])
        order = np.lexsort((jitter, source_rank, lengths[:, 1]))
        cuts = cut_by_budget(lengths[order], self.plan.budget_tokens)
        pairs = list(zip(corpus_of[order].tolist(), pair_of[order].tolist(), strict=True))
        batches = [pairs[begin:end] for begin, end in cuts]
        rng.shuffle(batches)
        return batches

    def _draw(self, number: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw a round from shuffled passes over each corpus: no pair repeats before all have been drawn."""
        shares = np.array(self.plan.weights) / sum(self.plan.weights)
        counts = np.maximum(1, np.round(shares * self.plan.round_pairs).astype(np.int64))
        corpus_of = np.repeat(np.arange(len(self.corpora)), counts)
        pair_of = [
            _draw_shuffled(len(corpus), number * int(count), int(count), (self.plan.seed, index))
            for index, (corpus, count) in enumerate(zip(self.corpora, counts, strict=True))
        ]
        return corpus_of, np.concatenate(pair_of)

    def _collate(self, batch: list[PairRef]) -> Batch:
        sources = [self.corpora[corpus].source(pair) for corpus, pair in batch]
        targets = [self.corpora[corpus].target(pair) for corpus, pair in batch]
        source_ids, source_mask = _pad(sources, self.plan.pad_id)
        target_out, target_mask = _pad(targets, self.plan.pad_id)
        target_in = torch.full_like(target_out, self.plan.bos_id)
        target_in[:, 1:] = target_out[:, :-1]
        return Batch(source_ids, source_mask, target_in, target_out, target_mask)


def cut_by_budget(lengths: NDArray[np.int64], budget_tokens: int) -> list[tuple[int, int]]:
    """Cut consecutive pairs into batches of at most `budget_tokens` padded tokens.

    Args:
        lengths: int64 [pairs, 2], source and target tokens.
        budget_tokens: limit for both sides together; a longer pair becomes a batch of its own.

    Returns:
        Begin and end of each batch.
    """
    cuts: list[tuple[int, int]] = []
    begin, width, height = 0, 0, 0
    for index, (source_len, target_len) in enumerate(zip(*lengths.T.tolist(), strict=True)):
        width, height = max(width, source_len), max(height, target_len)
        if index > begin and (width + height) * (index - begin + 1) > budget_tokens:
            cuts.append((begin, index))
            begin, width, height = index, source_len, target_len
    if len(lengths):
        cuts.append((begin, len(lengths)))
    return cuts


def _draw_shuffled(size: int, begin: int, count: int, seed: tuple[int, int]) -> NDArray[np.int64]:
    """Return `count` pairs from position `begin` of endless shuffled passes over 0 .. size - 1."""
    parts: list[NDArray[np.int64]] = []
    position, end = begin, begin + count
    while position < end:
        number, offset = divmod(position, size)
        shuffled = np.random.default_rng([*seed, number, 1]).permutation(size)
        part = shuffled[offset : offset + end - position]
        parts.append(part)
        position += len(part)
    return np.concatenate(parts)


def _pad(rows: list[NDArray[np.uint16]], pad_id: int) -> tuple[Tensor, Tensor]:
    width = max(len(row) for row in rows)
    ids = np.full((len(rows), width), pad_id, np.int64)
    mask = np.zeros((len(rows), width), np.bool_)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = True
    return torch.from_numpy(ids), torch.from_numpy(mask)
