"""Greedy search: the best token at each step.

Shapes: N sources given, B of them still searched for, one row each.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.scoring import normalised_score
from dragoman.decoding.slots import fill_holes
from dragoman.decoding.strategy import SourceLimits
from dragoman.types import FinishReason, Hypothesis


class Greedy:
    """A `Strategy` with one hypothesis per source.

    State is kept per source; `_sources` alone says which source sits in which slot of the batch.
    """

    def __init__(
        self, limits: Sequence[SourceLimits], length_penalty: float, bos_id: int, eos_id: int
    ) -> None:
        num_sources = len(limits)
        self._max_tokens = np.array([limit.max_tokens for limit in limits], np.int64)  # [N]
        self._min_tokens = np.array([limit.min_tokens for limit in limits], np.int64)  # [N]
        self._length_penalty = length_penalty
        self._eos_id = eos_id
        self.num_best = 2 if self._min_tokens.any() else 1  # an early end of sentence needs a runner-up
        self._num_tokens = 0  # of every row: all began together
        self._sources = np.arange(num_sources)  # [B]
        self._last_ids = np.full(num_sources, bos_id, np.int64)  # [B]
        self._logprobs = np.zeros(num_sources)  # float64 [N]
        self._tokens = np.zeros((num_sources, self._max_tokens.max(initial=0)), np.int64)  # [N, T]
        self._results: list[list[Hypothesis]] = [[] for _ in limits]

    @property
    def last_ids(self) -> NDArray[np.int64]:
        """The token that each row is extended by next, int64 [B]."""
        return self._last_ids

    @property
    def is_done(self) -> bool:
        """Whether every source has its result."""
        return not len(self._sources)

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Take each row's best token, or the second best while the sentence may not end yet.

        Args:
            logprobs: float32 [B, K], best first.
            ids: int64 [B, K].

        Returns:
            The rows that continue, int64 [B'], when sources have left and others stay; else None.
        """
        sources = self._sources
        is_early = (ids[:, 0] == self._eos_id) & (self._num_tokens < self._min_tokens[sources])
        picked = (np.arange(len(sources)), is_early.astype(np.int64))
        self._last_ids = ids[picked]
        self._logprobs[sources] += logprobs[picked]
        self._tokens[sources, self._num_tokens] = self._last_ids
        self._num_tokens += 1

        is_stopped = self._last_ids == self._eos_id
        is_leaving = is_stopped | (self._num_tokens >= self._max_tokens[sources])
        if not is_leaving.any():
            return None
        for slot in np.flatnonzero(is_leaving).tolist():
            reason = FinishReason.STOP if is_stopped[slot] else FinishReason.LENGTH
            self._finish(int(sources[slot]), reason)
        slots = fill_holes(is_leaving)
        self._sources = sources[slots]
        self._last_ids = self._last_ids[slots]
        return slots if len(slots) else None

    def results(self) -> list[list[Hypothesis]]:
        """Per source, in the order given, its one hypothesis."""
        return self._results

    def _finish(self, source: int, reason: FinishReason) -> None:
        num_ids = self._num_tokens - (reason is FinishReason.STOP)
        logprob = float(self._logprobs[source])
        hypothesis = Hypothesis(
            ids=tuple(self._tokens[source, :num_ids].tolist()),
            logprob=logprob,
            num_tokens=self._num_tokens,
            score=normalised_score(logprob, self._num_tokens, self._length_penalty),
            finish_reason=reason,
        )
        self._results[source].append(hypothesis)
