"""Endless batches as a pure function of seed and step, so that a resumed run sees the same batches."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import IterableDataset, get_worker_info

from training.token_corpus import TokenCorpus

ROUND_PAIRS = 200_000
"""Number of pairs that are drawn, sorted by length and cut into batches at a time."""


@dataclass(frozen=True, slots=True)
class PairRefs:
    """Indices of pairs: of their corpora, and in these, each int64 [pairs]."""

    corpora: NDArray[np.int64]
    pairs: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.corpora)

    def take(self, rows: NDArray[np.int64] | slice) -> "PairRefs":
        return PairRefs(self.corpora[rows], self.pairs[rows])


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

    Each of several processes takes every `stride`-th batch. A loader's processes take turns within that, so
    that the loader gives the same batches in the same order however many they are.
    """

    def __init__(
        self, corpora: Sequence[TokenCorpus], plan: BatchSettings, first: int = 0, stride: int = 1
    ) -> None:
        self.corpora = corpora
        self.plan = plan
        self.first = first
        self.stride = stride

    def __iter__(self) -> Iterator[Batch]:
        worker = get_worker_info()
        turn, num_turns = (0, 1) if worker is None else (worker.id, worker.num_workers)
        first, stride = turn * self.stride, num_turns * self.stride
        for batch in itertools.islice(self.references(), first, None, stride):
            yield self._collate(batch)

    def references(self) -> Iterator[PairRefs]:
        """Yield the pairs of each batch."""
        to_skip = self.first
        round_number = 0
        while True:
            batches = self._round(round_number)
            yield from batches[to_skip:]
            to_skip = max(0, to_skip - len(batches))
            round_number += 1

    def _round(self, number: int) -> list[PairRefs]:
        rng = np.random.default_rng([self.plan.seed, number])
        drawn = self._draw(number)
        lengths = np.empty((len(drawn), 2), np.int64)
        for index, corpus in enumerate(self.corpora):
            is_here = drawn.corpora == index
            lengths[is_here] = corpus.lengths_of(drawn.pairs[is_here])
        jitter = rng.random(len(lengths))
        # Sources get longer over one target length and shorter over the next: a batch that spans several
        # target lengths then has sources of similar lengths.
        source_rank = np.where(lengths[:, 1] % 2, lengths[:, 0], -lengths[:, 0])
        order = np.lexsort((jitter, source_rank, lengths[:, 1]))
        cuts = cut_by_budget(lengths[order], self.plan.budget_tokens)
        pairs = drawn.take(order)
        batches = [pairs.take(slice(begin, end)) for begin, end in cuts]
        rng.shuffle(batches)
        return batches

    def _draw(self, number: int) -> PairRefs:
        """Draw a round from shuffled passes over each corpus: no pair repeats before all have been drawn."""
        shares = np.array(self.plan.weights) / sum(self.plan.weights)
        counts = np.maximum(1, np.round(shares * self.plan.round_pairs).astype(np.int64))
        corpus_of = np.repeat(np.arange(len(self.corpora)), counts)
        pair_of = [
            _draw_shuffled(len(corpus), number * int(count), int(count), (self.plan.seed, index))
            for index, (corpus, count) in enumerate(zip(self.corpora, counts, strict=True))
        ]
        return PairRefs(corpus_of, np.concatenate(pair_of))

    def _collate(self, batch: PairRefs) -> Batch:
        source_ids, source_mask = self._padded(batch, side=0)
        target_out, target_mask = self._padded(batch, side=1)
        target_in = torch.full_like(target_out, self.plan.bos_id)
        target_in[:, 1:] = target_out[:, :-1]
        return Batch(source_ids, source_mask, target_in, target_out, target_mask)

    def _padded(self, batch: PairRefs, side: Literal[0, 1]) -> tuple[Tensor, Tensor]:
        """Return the ids of one side of a batch, padded on the right, and their mask."""
        here = [np.flatnonzero(batch.corpora == index) for index in range(len(self.corpora))]
        lengths = np.empty(len(batch), np.int64)
        for corpus, rows in zip(self.corpora, here, strict=True):
            lengths[rows] = corpus.lengths_of(batch.pairs[rows])[:, side]
        columns = np.arange(lengths.max())
        mask = columns < lengths[:, None]
        ids = np.full(mask.shape, self.plan.pad_id, np.int64)
        for corpus, rows in zip(self.corpora, here, strict=True):
            positions = corpus.offsets[2 * batch.pairs[rows] + side][:, None] + columns
            ids[rows] = np.where(mask[rows], corpus.ids.take(positions, mode="clip"), self.plan.pad_id)
        return torch.from_numpy(ids), torch.from_numpy(mask)


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
