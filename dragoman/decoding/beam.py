"""Beam search: the beam_size most probable beginnings of each source are kept alive.

Shapes: N sources given, B of them still searched for, k = beam_size, K candidates of a row, T positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.options import DecodingOptions
from dragoman.decoding.scoring import length_norm, normalised_score
from dragoman.decoding.slots import fill_holes
from dragoman.decoding.strategy import SourceLimits
from dragoman.types import FinishReason, Hypothesis


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Extensions of each source's live hypotheses, best first."""

    totals: NDArray[np.float64]
    """[B, C], log-probability of the whole hypothesis."""
    ids: NDArray[np.int64]
    """[B, C], the token it is extended by."""
    parents: NDArray[np.int64]
    """[B, C], rank of the hypothesis it extends."""

    def pick(self, columns: NDArray[np.int64]) -> "_Candidates":
        """Some of each source's candidates; `columns` is [B, C'], in the order wanted."""
        picked = (_slots(columns), columns)
        return _Candidates(self.totals[picked], self.ids[picked], self.parents[picked])


class Beam:
    """A `Strategy` that keeps `beam_size` live hypotheses per source.

    At each step all extensions of a source's live hypotheses are ranked together. Ends of sentence among
    the first k are finished hypotheses, other ends of sentence are dropped; the first k of the rest live on.
    Equal totals are ranked by the rank of the hypothesis extended, then by the stepper's order.

    A source is done at its limit, or when it has k finished hypotheses and the worst of the k best scores
    no less than the best live one would, ended here: the heuristic that Hugging Face Transformers names
    `early_stopping=False`. With a length penalty above 0 it may miss a longer, better hypothesis.

    State is kept per source and by rank. `_sources` alone says which source sits in which slot of the
    batch, and `_places` which row of its group a hypothesis has: rows then move less often than ranks.
    """

    def __init__(
        self,
        limits: Sequence[SourceLimits],
        options: DecodingOptions,
        bos_id: int,
        eos_id: int,
        vocab_size: int,
    ) -> None:
        shape = (len(limits), options.beam_size)
        self._options = options
        self._max_tokens = np.array([limit.max_tokens for limit in limits], np.int64)  # [N]
        self._min_tokens = np.array([limit.min_tokens for limit in limits], np.int64)  # [N]
        self._eos_id = eos_id
        # The k best extensions of one hypothesis that do not end, and the one that does.
        self.num_best = min(options.beam_size + 1, vocab_size)
        self._num_tokens = 0  # of every live hypothesis: all began together
        self._sources = np.arange(len(limits))  # [B]
        self._last_ids = np.full(shape, bos_id, np.int64)  # [B, k], by place
        self._places = np.tile(np.arange(options.beam_size), (len(limits), 1))  # [N, k], by rank
        self._totals = np.full(shape, -np.inf)  # float64 [N, k], by rank
        self._totals[:, 0] = 0.0  # at first all hypotheses are the same empty one
        self._tokens = np.zeros((*shape, self._max_tokens.max(initial=0)), np.int64)  # [N, k, T], by rank
        self._best_scores = np.full(shape, -np.inf)  # [N, k], of finished hypotheses, in no order
        self._results: list[list[Hypothesis]] = [[] for _ in limits]

    @property
    def last_ids(self) -> NDArray[np.int64]:
        """The token that each row is extended by next, int64 [B * k]."""
        return self._last_ids.ravel()

    @property
    def is_done(self) -> bool:
        """Whether every source has its results."""
        return not len(self._sources)

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Rank a step's candidates, collect what is finished and keep the best of the rest alive.

        Args:
            logprobs: float32 [B * k, K], best first.
            ids: int64 [B * k, K].

        Returns:
            The rows to select before the next step, int64 [B' * k]; None if every row simply continues
            or no source is left.
        """
        candidates = self._rank(logprobs, ids)
        self._num_tokens += 1
        self._collect_ended(candidates)
        live = self._first_unended(candidates)
        self._extend(live)
        is_leaving = self._leaving(live.totals[:, 0])
        return self._rearrange(live, is_leaving)

    def results(self) -> list[list[Hypothesis]]:
        """Per source, in the order given, its best hypotheses: ended before cut, then by score."""
        return [
            sorted(found, key=lambda one: (one.finish_reason is FinishReason.LENGTH, -one.score))[
                : self._options.num_hypotheses
            ]
            for found in self._results
        ]

    def _rank(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> _Candidates:
        """The 2k best candidates of each source: k of them at least do not end, as one in a row may."""
        beam_size = self._options.beam_size
        num_sources, num_best = len(self._sources), logprobs.shape[1]
        rows = self._places[self._sources]  # [B, k], by rank
        rows += beam_size * _slots(rows)
        totals: NDArray[np.float64] = self._totals[self._sources][:, :, None] + logprobs[rows]  # [B, k, K]
        totals = totals.reshape(num_sources, beam_size * num_best)
        order = np.argsort(-totals, axis=1, kind="stable")[:, : 2 * beam_size]
        picked = (_slots(order), order)
        return _Candidates(totals[picked], ids[rows].reshape(totals.shape)[picked], order // num_best)

    def _collect_ended(self, candidates: _Candidates) -> None:
        """Keep the ends of sentence among the first k candidates that the limits allow."""
        first = slice(self._options.beam_size)
        may_end = self._num_tokens > self._min_tokens[self._sources]  # [B]
        is_ended = (candidates.ids[:, first] == self._eos_id) & may_end[:, None]
        for slot, rank in zip(*(axis.tolist() for axis in np.nonzero(is_ended)), strict=True):
            source, parent = int(self._sources[slot]), int(candidates.parents[slot, rank])
            ids = self._tokens[source, parent, : self._num_tokens - 1]
            hypothesis = self._hypothesis(ids, float(candidates.totals[slot, rank]), FinishReason.STOP)
            worst = self._best_scores[source].argmin()
            # Else k others are no worse, or it is impossible: -inf is not above the -inf of an empty place.
            if hypothesis.score > self._best_scores[source, worst]:
                self._best_scores[source, worst] = hypothesis.score
                self._results[source].append(hypothesis)

    def _first_unended(self, candidates: _Candidates) -> _Candidates:
        """The k best candidates of each source that go on."""
        columns = np.argsort(candidates.ids == self._eos_id, axis=1, kind="stable")
        return candidates.pick(columns[:, : self._options.beam_size])

    def _extend(self, live: _Candidates) -> None:
        """Append the live candidates' tokens to the beginnings they extend."""
        sources, last = self._sources, self._num_tokens - 1
        self._totals[sources] = live.totals
        self._tokens[sources, :, :last] = self._tokens[sources[:, None], live.parents, :last]
        self._tokens[sources, :, last] = live.ids

    def _leaving(self, best_totals: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which sources are done, bool [B]; those that the limit cuts short get what they have.

        Args:
            best_totals: [B], of each source's best live hypothesis.
        """
        scores = self._best_scores[self._sources]
        # The worst is -inf until k have finished: then only a source that cannot go on has settled.
        attainable = best_totals / length_norm(self._num_tokens, self._options.length_penalty)
        is_settled: NDArray[np.bool_] = (attainable <= scores.min(axis=1)) & (scores.max(axis=1) > -np.inf)
        is_at_limit = self._num_tokens >= self._max_tokens[self._sources]
        for source in self._sources[is_at_limit].tolist():
            self._collect_cut(source)
        return is_settled | is_at_limit

    def _collect_cut(self, source: int) -> None:
        """Fill up a source's results with its live hypotheses; impossible ones only if it has no other."""
        found = self._results[source]
        for rank in range(self._options.num_hypotheses - len(found)):
            logprob = float(self._totals[source, rank])
            if found and logprob == -np.inf:
                break
            ids = self._tokens[source, rank, : self._num_tokens]
            found.append(self._hypothesis(ids, logprob, FinishReason.LENGTH))

    def _hypothesis(self, ids: NDArray[np.int64], logprob: float, reason: FinishReason) -> Hypothesis:
        score = normalised_score(logprob, self._num_tokens, self._options.length_penalty)
        return Hypothesis(tuple(ids.tolist()), logprob, self._num_tokens, score, reason)

    def _rearrange(self, live: _Candidates, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64] | None:
        """Say goodbye to sources that are done and find a row for every live hypothesis.

        Returns:
            The rows to select, int64 [B' * k], or None.
        """
        beam_size = self._options.beam_size
        sources = self._sources
        if self._num_tokens > 1:
            parent_places = self._places[sources[:, None], live.parents]
            places = inherit(parent_places)
        else:  # every row has read the same, so each may stay where it is
            parent_places = places = self._places[sources]
        self._places[sources] = places
        placed = (_slots(places), places)
        self._last_ids = np.empty_like(places)
        self._last_ids[placed] = live.ids
        rows = np.empty_like(places)  # [B, k]
        rows[placed] = parent_places + beam_size * placed[0]

        num_rows = rows.size
        if is_leaving.any():
            slots = fill_holes(is_leaving)
            self._sources = sources[slots]
            self._last_ids = self._last_ids[slots]
            rows = rows[slots]
        rows = rows.ravel()
        is_unchanged = rows.size == num_rows and np.array_equal(rows, np.arange(num_rows))
        return None if is_unchanged or not rows.size else rows


def inherit(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give every child a place, so that as few places as possible change their content.

    Args:
        parents: int64 [B, k], the place of the parent of each child.

    Returns:
        int64 [B, k], each group a permutation: the first child of a parent stays in its place, the others
        get the places of those without children.
    """
    slots = _slots(parents)
    first_child = (parents[:, :, None] == parents[:, None, :]).argmax(axis=2)
    is_sibling = first_child != np.arange(parents.shape[1])
    is_parent = np.zeros(parents.shape, np.bool_)
    is_parent[slots, parents] = True
    free = np.argsort(is_parent, axis=1, kind="stable")  # places without children first
    nth_sibling = np.cumsum(is_sibling, axis=1) - 1
    return np.where(is_sibling, free[slots, nth_sibling], parents)


def _slots(columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """[B, 1], what goes before `columns` [B, C] to index along the second axis, slot by slot."""
    return np.arange(len(columns))[:, None]
