"""Beam search: keep the beam_size most probable beginnings of each source.

Shapes: B sources searched for, k = beam_size, K candidates of a row, T positions.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.scoring import length_norms, normalised_score
from dragoman.decoding.slots import add_slots, rows_of
from dragoman.decoding.strategy import SlotStrategy, Source, StepOutcome, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis

NO_LIMIT = np.iinfo(np.int64).max
"""Number of steps to the nearest limit if there are no sources."""
MAX_TABLE_BEAM = 5
"""Largest beam size with a precomputed table of all inheritances: 3125 for 5."""


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Extensions of each source's live hypotheses, best first."""

    totals: NDArray[np.float64]
    """[B, C], log-probability of the whole hypothesis."""
    ids: NDArray[np.int64]
    """[B, C], token that extends it."""
    parents: NDArray[np.int64]
    """[B, C], rank of the hypothesis that it extends."""

    def first(self, count: int) -> "_Candidates":
        """Return the best `count` of each source."""
        return _Candidates(self.totals[:, :count], self.ids[:, :count], self.parents[:, :count])

    def pick(self, columns: NDArray[np.int64]) -> "_Candidates":
        """Return some of each source's candidates; `columns` is [B, C'], in the order to return."""
        picked = (np.arange(len(columns))[:, None], columns)
        return _Candidates(self.totals[picked], self.ids[picked], self.parents[picked])


@dataclass(slots=True)
class _State:
    """State by slot. `rows_of_ranks` maps ranks to rows, as hypotheses change rows less often than ranks."""

    max_tokens: NDArray[np.int64]  # [B]
    min_tokens: NDArray[np.int64]  # [B]
    num_shared_tokens: NDArray[
        np.int64
    ]  # [B], number of tokens up to which all rows of a source have read the same
    num_tokens: NDArray[np.int64]  # [B], so far, of every live hypothesis
    norms: NDArray[np.float64]  # [B, T + 1], divisor of a log-probability, by number of tokens
    last_ids: NDArray[np.int64]  # [B, k], by row
    rows_of_ranks: NDArray[np.int64]  # [B, k], by rank: the row of its group that holds a hypothesis
    totals: NDArray[np.float64]  # [B, k], by rank
    tokens: NDArray[np.int32]  # [B, T, k], by the rank after each step
    parents: NDArray[np.int32]  # [B, T, k], by the rank after each step: the rank before it
    best_scores: NDArray[np.float64]  # [B, k], of finished hypotheses, in no order


@dataclass(frozen=True, slots=True)
class _Finished:
    """A finished hypothesis; its tokens are taken from the state when its source is done."""

    score: float
    logprob: float
    parent: int
    """Rank of the hypothesis that its last token extends."""
    num_tokens: int
    last_id: int
    """The end of sentence, or the last token before the limit."""


class Beam(SlotStrategy[_State]):
    """A `Strategy` that keeps `beam_size` live hypotheses per source.

    Each step ranks all extensions of a source's live hypotheses together. Ends of sentence among the first
    k become finished hypotheses, other ends of sentence are dropped; the first k of the rest stay alive. At
    its source's limit each of the first k is finished, ended or cut. Equal totals are ranked by the rank of
    the hypothesis that they extend, then by the stepper's order.

    A source is done at its limit, or when it has k finished hypotheses and the worst of the k best scores
    no less than the best live one would if it ended here; with `early_stopping`, k are enough. With a
    length penalty above 0 this may miss a longer, better hypothesis. Results are the best finished ones.

    These are the rules of `generate` in Hugging Face Transformers 5, for `early_stopping` True and False.
    """

    def __init__(self, beam_size: int, target: TargetVocabulary) -> None:
        super().__init__(beam_size, target)
        # At most one extension of a hypothesis ends it; the others are its k best.
        self._num_best = min(beam_size + 1, target.size)
        self._finished: list[list[_Finished]] = []  # by slot
        self._has_finished = False  # true if any source has one
        self._restricted_steps = 0  # remaining steps with forced tokens or ends that are too early
        self._steps_to_limit = 0  # steps until the nearest limit of any source
        self._update_layout()

    @property
    def num_best(self) -> int:
        """K, the number of candidates needed per row."""
        return self._num_best

    def join(self, sources: Sequence[Source]) -> None:
        """Start the search for more sources, in slots after all others."""
        self._target.check_forced_ids(sources)
        self._state = add_slots(self._state, self._begin(sources))
        self._sources += sources
        self._finished += [[] for _ in sources]
        self._update_layout()

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> StepOutcome:
        """Rank a step's candidates, collect finished ones and keep the best of the rest alive.

        Args:
            logprobs: float32 [B * k, K], best first.
            ids: int64 [B * k, K].
        """
        candidates = self._rank(logprobs, ids)
        self._state.num_tokens += 1
        self._steps_to_limit -= 1
        is_end = candidates.ids == self._target.eos_id
        has_end = is_end.any()
        if has_end or not self._steps_to_limit:
            self._collect(candidates, is_end)
        if has_end:
            # The k best that do not end, in their order.
            live = candidates.pick(np.argsort(is_end, axis=1, kind="stable")[:, : self._beam_size])
        else:
            live = candidates.first(self._beam_size)
        self._extend(live)
        rows = self._assign_rows(live)
        is_leaving = self._done_slots()
        if is_leaving.any():
            leaving = np.flatnonzero(is_leaving).tolist()
            finished = [(self._sources[slot], self._results(slot)) for slot in leaving]
            return StepOutcome(rows[self.remove(is_leaving)], finished)
        return StepOutcome(None if np.array_equal(rows, self._rows) else rows, ())

    def remove(self, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Remove sources, bool [B] -> the rows that continue, int64 [B' * k]."""
        slots = self._keep_staying(is_leaving)
        self._finished = [self._finished[slot] for slot in slots.tolist()]
        self._has_finished = any(self._finished)
        self._update_layout()
        return rows_of(slots, self._beam_size)

    def best_ids(self, slot: int) -> list[int]:
        """Return the target ids so far of the best live hypothesis, without those `Source.begin` forces.

        Another hypothesis may be the best after the next step.
        """
        return self._ids(slot, rank=0, num_tokens=int(self._state.num_tokens[slot]))

    def _begin(self, sources: Sequence[Source]) -> _State:
        shape = (len(sources), self._beam_size)
        max_tokens = np.array([source.limits.max_tokens for source in sources], np.int64)
        positions = int(max_tokens.max(initial=0))
        norms = np.zeros((len(sources), positions + 1))
        for slot, source in enumerate(sources):
            norms[slot] = length_norms(positions, source.length_penalty)
        starts = np.array([source.begin[0] for source in sources], np.int64)
        totals = np.full(shape, -np.inf)
        totals[:, 0] = 0.0  # at first all hypotheses are the same empty one
        return _State(
            max_tokens=max_tokens,
            min_tokens=np.array([source.limits.min_tokens for source in sources], np.int64),
            num_shared_tokens=np.array([1 + source.num_forced for source in sources], np.int64),
            num_tokens=np.zeros(len(sources), np.int64),
            norms=norms,
            last_ids=np.full(shape, starts[:, None]),
            rows_of_ranks=np.tile(np.arange(self._beam_size), (len(sources), 1)),
            totals=totals,
            tokens=np.zeros((len(sources), positions, self._beam_size), np.int32),
            parents=np.zeros((len(sources), positions, self._beam_size), np.int32),
            best_scores=np.full(shape, -np.inf),
        )

    def _update_layout(self) -> None:
        """Compute what depends only on the sources: numpy calls have overhead, and every step needs it."""
        self._slots = np.arange(len(self._sources))
        self._first_rows = (self._slots * self._beam_size)[:, None]
        self._rows = np.arange(len(self._sources) * self._beam_size)
        state = self._state
        num_restricted = np.maximum(state.min_tokens, state.num_shared_tokens - 1)
        self._restricted_steps = int((num_restricted - state.num_tokens).max(initial=0))
        self._steps_to_limit = int((state.max_tokens - state.num_tokens).min(initial=NO_LIMIT))

    def _rank(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> _Candidates:
        """Return the 2k best candidates of each source: at least k do not end, as only one per row may."""
        state, num_best = self._state, logprobs.shape[1]
        num_candidates = self._beam_size * num_best
        rows = state.rows_of_ranks + self._first_rows  # [B, k], by rank
        totals: NDArray[np.float64] = state.totals[:, :, None] + logprobs[rows]  # [B, k, K]
        ids = ids[rows]
        if self._restricted_steps:
            self._restricted_steps -= 1
            self._restrict(totals, ids)
        totals = totals.reshape(-1, num_candidates)
        order = (-totals).argsort(axis=1, kind="stable")[:, : 2 * self._beam_size]
        picked = order + (self._slots * num_candidates)[:, None]
        return _Candidates(totals.take(picked), ids.take(picked), order // num_best)

    def _restrict(self, totals: NDArray[np.float64], ids: NDArray[np.int64]) -> None:
        """Make ends that come too early impossible, and all hypotheses but the forced one.

        Args:
            totals: float64 [B, k, K], changed in place.
            ids: int64 [B, k, K], changed in place.
        """
        state = self._state
        is_early = (state.num_tokens < state.min_tokens)[:, None, None]
        totals[is_early & (ids == self._target.eos_id)] = -np.inf
        for slot, num_tokens in enumerate(state.num_tokens.tolist()):
            source = self._sources[slot]
            if num_tokens < source.num_forced:
                ids[slot] = source.forced(num_tokens)
                totals[slot] = -np.inf
                totals[slot, 0, 0] = 0.0

    def _collect(self, candidates: _Candidates, is_end: NDArray[np.bool_]) -> None:
        """Collect finished hypotheses among the first k candidates: ends, and all at a source's limit."""
        state = self._state
        is_last = state.num_tokens >= state.max_tokens
        is_finished = is_end[:, : self._beam_size] | is_last[:, None]
        for slot, rank in zip(*(axis.tolist() for axis in np.nonzero(is_finished)), strict=True):
            logprob, num_tokens = float(candidates.totals[slot, rank]), int(state.num_tokens[slot])
            source, scores = self._sources[slot], state.best_scores[slot]
            score = normalised_score(logprob, num_tokens, source.length_penalty)
            worst = scores.argmin()
            # Else k others are no worse, or it is impossible: -inf is not above the -inf of a free entry.
            if score > scores[worst]:
                scores[worst] = score
                parent, last_id = int(candidates.parents[slot, rank]), int(candidates.ids[slot, rank])
                self._finished[slot].append(_Finished(score, logprob, parent, num_tokens, last_id))
                self._has_finished = True
                if source.early_stopping and scores.min() > -np.inf:
                    state.max_tokens[slot] = num_tokens  # last step, but its other candidates still compete

    def _extend(self, live: _Candidates) -> None:
        """Append the live candidates' tokens to the beginnings that they extend."""
        state = self._state
        position = (self._slots, state.num_tokens - 1)
        state.totals = live.totals
        state.tokens[position] = live.ids
        state.parents[position] = live.parents

    def _assign_rows(self, live: _Candidates) -> NDArray[np.int64]:
        """Assign a row to every live hypothesis.

        Returns:
            The row that each row continues, int64 [B * k].
        """
        state = self._state
        # At first all rows of a source have read the same, so each may stay in place.
        is_alike = (state.num_tokens <= state.num_shared_tokens)[:, None]
        inherited = state.rows_of_ranks.take(live.parents + self._first_rows)
        parent_rows = np.where(is_alike, state.rows_of_ranks, inherited)
        state.rows_of_ranks = assign_rows_to_children(parent_rows)
        ranked_rows = state.rows_of_ranks + self._first_rows
        state.last_ids.put(ranked_rows, live.ids)
        rows = np.empty_like(self._rows)
        rows[ranked_rows] = parent_rows + self._first_rows
        return rows

    def _done_slots(self) -> NDArray[np.bool_]:
        """Return which sources are done, bool [B]."""
        state = self._state
        is_leaving: NDArray[np.bool_] = state.num_tokens >= state.max_tokens
        if self._has_finished:
            attainable = state.totals[:, 0] / state.norms[self._slots, state.num_tokens]
            scores = state.best_scores
            # Until k have finished the worst is -inf, and only a source that cannot continue is done.
            is_leaving |= (attainable <= scores.min(axis=1)) & (scores.max(axis=1) > -np.inf)
        return is_leaving

    def _results(self, slot: int) -> list[Hypothesis]:
        """Return a finished source's best hypotheses by score; of equals, the one that finished first."""
        source = self._sources[slot]
        best = sorted(self._finished[slot], key=lambda one: -one.score)[: source.num_hypotheses]
        return [self._hypothesis(slot, one) for one in best] or [self._placeholder_hypothesis(slot)]

    def _hypothesis(self, slot: int, one: _Finished) -> Hypothesis:
        ids = self._ids(slot, one.parent, one.num_tokens - 1)
        is_stopped = one.last_id == self._target.eos_id
        return Hypothesis(
            ids=tuple(ids if is_stopped else [*ids, one.last_id]),
            logprob=one.logprob,
            num_tokens=one.num_tokens,
            score=one.score,
            finish_reason=FinishReason.STOP if is_stopped else FinishReason.LENGTH,
        )

    def _placeholder_hypothesis(self, slot: int) -> Hypothesis:
        """Return the placeholder result for a source whose limits the model cannot satisfy."""
        num_tokens = int(self._state.num_tokens[slot])
        ids = tuple(self._ids(slot, rank=0, num_tokens=num_tokens))
        return Hypothesis(ids, -math.inf, num_tokens, -math.inf, FinishReason.LENGTH)

    def _ids(self, slot: int, rank: int, num_tokens: int) -> list[int]:
        """Return the ids of the hypothesis with this rank at this length, without those of `begin`."""
        first = self._sources[slot].num_hidden_forced  # all hypotheses are alike before it
        tokens: list[list[int]] = self._state.tokens[slot, first:num_tokens].tolist()
        parents: list[list[int]] = self._state.parents[slot, first:num_tokens].tolist()
        return follow_parents(tokens, parents, rank)


def follow_parents(tokens: list[list[int]], parents: list[list[int]], rank: int) -> list[int]:
    """Return the ids of the hypothesis that has a rank after the last position.

    Args:
        tokens: token of each rank, by position.
        parents: rank before the position of each rank after it, by position.
        rank: rank after the last position.
    """
    ids: list[int] = []
    for at_position, before in zip(reversed(tokens), reversed(parents), strict=True):
        ids.append(at_position[rank])
        rank = before[rank]
    return ids[::-1]


def assign_rows_to_children(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Assign each child a row so that as few rows as possible change their content.

    Args:
        parents: int64 [B, k], the row of each child's parent.

    Returns:
        int64 [B, k], each group a permutation: the first child of a parent keeps its row, the others
        get the rows without children.
    """
    beam_size = parents.shape[1]
    if beam_size > MAX_TABLE_BEAM:
        return _inherit(parents)
    weights, table = _inheritance_table(beam_size)
    inherited: NDArray[np.int64] = table[parents @ weights]
    return inherited


@lru_cache(maxsize=MAX_TABLE_BEAM)
def _inheritance_table(beam_size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return weights [k], and a table [k ** k, k] with `_inherit(parents)` at index `parents @ weights`."""
    weights = beam_size ** np.arange(beam_size)
    parents = np.arange(beam_size**beam_size)[:, None] // weights % beam_size
    return weights, _inherit(parents)


def _inherit(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    slots = np.arange(len(parents))[:, None]
    first_child = (parents[:, :, None] == parents[:, None, :]).argmax(axis=2)
    is_sibling = first_child != np.arange(parents.shape[1])
    is_parent = np.zeros(parents.shape, np.bool_)
    is_parent[slots, parents] = True
    free = np.argsort(is_parent, axis=1, kind="stable")  # rows without children first
    nth_sibling = np.cumsum(is_sibling, axis=1) - 1
    return np.where(is_sibling, free[slots, nth_sibling], parents)
