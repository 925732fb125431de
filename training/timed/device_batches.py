"""Batches whose token ids never leave the device: the host draws pairs and sends only where they lie."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.batches import cut_by_budget
from training.prepare import WeightedCorpus

ROUND_PAIRS = 120_000
"""Number of pairs that are drawn, sorted by length and cut into batches at a time."""
MULTIPLE = 8
"""Padded lengths are multiples of this, which fused attention needs."""

RoundPlan = tuple[NDArray[np.int64], list[tuple[int, int]]]
"""The order of a round's pairs, int64 [pairs], and begin and end of each batch in it."""


class DeviceBatch(NamedTuple):
    """The input of one step on the device: B pairs, source length S, target length T, N target tokens."""

    source_ids: Tensor  # int64 [B, S]
    source_mask: Tensor  # bool [B, S]
    target_in: Tensor  # int64 [B, T]
    target_positions: Tensor  # int64 [N], positions of the target's tokens in [B x T]
    target_out: Tensor  # int64 [N]
    pairs: int
    target_tokens: int


@dataclass(frozen=True, slots=True)
class BatchLimits:
    budget_tokens: int
    seed: int
    pad_id: int
    bos_id: int


class DeviceBatches:
    """Endless batches of one direction, drawn by the weights of its corpora.

    The next round is planned in another process while this one is trained on. At each round `find_corpora` is
    asked again: corpora that are still being prepared, or made anew, join when they are there.
    """

    def __init__(
        self,
        find_corpora: Callable[[], Sequence[WeightedCorpus]],
        limits: BatchLimits,
        device: torch.device,
        pool: ProcessPoolExecutor,
    ) -> None:
        self._find, self._limits, self._device, self._pool = find_corpora, limits, device, pool
        self._rng = np.random.default_rng(limits.seed)
        self._corpora: list[WeightedCorpus] = []
        self._orders: list[NDArray[np.int64]] = []
        self._ids = torch.empty(0, dtype=torch.int32, device=device)
        self._bases: list[int] = []

    def __iter__(self) -> Iterator[DeviceBatch]:
        plan = self._plan()
        while True:
            ids, (starts, lengths, future) = self._ids, plan
            order, cuts = future.result()
            plan = self._plan()
            for begin, end in cuts:
                rows = order[begin:end]
                yield self._gather(ids, starts[rows], lengths[rows])

    def _plan(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Future[RoundPlan]]:
        """Draw a round; return beginnings and lengths, int64 [pairs, 2], and the plan that is on its way."""
        self._refresh()
        starts, lengths = self._draw()
        seed = int(self._rng.integers(2**31))
        future = self._pool.submit(plan_round, lengths, self._limits.budget_tokens, seed)
        return starts, lengths, future

    def _refresh(self) -> None:
        corpora = list(self._find())
        if [id(one.tokenised) for one in corpora] == [id(one.tokenised) for one in self._corpora]:
            return
        self._corpora = corpora
        self._orders = [np.empty(0, np.int64) for _ in corpora]
        sizes = [len(corpus.tokenised.ids) for corpus in corpora]
        self._bases = [0, *np.cumsum(sizes).tolist()]
        everything = np.concatenate([corpus.tokenised.ids for corpus in corpora])
        self._ids = torch.from_numpy(everything.astype(np.int32)).to(self._device)

    def _draw(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Draw a round from shuffled passes over each corpus; return beginnings and lengths [pairs, 2]."""
        weights = np.array([corpus.weight for corpus in self._corpora])
        counts = np.maximum(1, np.round(weights / weights.sum() * ROUND_PAIRS)).astype(int).tolist()
        starts, lengths = [], []
        for index, (corpus, count) in enumerate(zip(self._corpora, counts, strict=True)):
            while len(self._orders[index]) < count:
                again = self._rng.permutation(len(corpus.tokenised))
                self._orders[index] = np.concatenate([self._orders[index], again])
            pairs, self._orders[index] = np.split(self._orders[index], [count])
            offsets = corpus.tokenised.offsets[2 * pairs[:, None] + np.arange(3)]
            starts.append(offsets[:, :2] + self._bases[index])
            lengths.append(np.diff(offsets))
        return np.concatenate(starts), np.concatenate(lengths)

    def _gather(self, ids: Tensor, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> DeviceBatch:
        source_len, target_len = (-(-lengths.max(axis=0) // MULTIPLE) * MULTIPLE).tolist()
        where = torch.from_numpy(np.concatenate([starts, lengths], axis=1))
        if self._device.type == "cuda":
            where = where.pin_memory()
        where = where.to(self._device, non_blocking=True)
        source_ids, source_mask = self._side(ids, where[:, 0], where[:, 2], source_len)
        target_ids, _ = self._side(ids, where[:, 1], where[:, 3], target_len)
        target_in = torch.full_like(target_ids, self._limits.bos_id)
        target_in[:, 1:] = target_ids[:, :-1]
        # The host knows the number of tokens, so that it need not wait for the device to count them.
        num_tokens = int(lengths[:, 1].sum())
        tokens = torch.arange(num_tokens, device=self._device)
        ends = where[:, 3].cumsum(dim=0)
        rows = torch.repeat_interleave(where[:, 3], output_size=num_tokens)
        positions = rows * target_len + tokens - (ends - where[:, 3])[rows]
        return DeviceBatch(
            source_ids,
            source_mask,
            target_in,
            positions,
            target_ids.flatten()[positions],
            len(lengths),
            num_tokens,
        )

    def _side(self, ids: Tensor, start: Tensor, length: Tensor, width: int) -> tuple[Tensor, Tensor]:
        columns = torch.arange(width, device=self._device)
        mask = columns < length[:, None]
        positions = torch.where(mask, start[:, None] + columns, 0)
        return torch.where(mask, ids[positions].long(), self._limits.pad_id), mask


def plan_round(lengths: NDArray[np.int64], budget_tokens: int, seed: int) -> RoundPlan:
    """Sort pairs by padded lengths and cut them into batches.

    Args:
        lengths: int64 [pairs, 2].
        budget_tokens: limit of padded tokens of a batch, both sides together.
        seed: decides the order of like pairs, and that of the batches.
    """
    rng = np.random.default_rng(seed)
    padded = -(-lengths // MULTIPLE) * MULTIPLE
    source_rank = np.where(padded[:, 1] // MULTIPLE % 2, padded[:, 0], -padded[:, 0])
    order = np.lexsort((rng.random(len(lengths)), source_rank, padded[:, 1]))
    cuts = cut_by_budget(padded[order], budget_tokens)
    rng.shuffle(cuts)
    return order, cuts
