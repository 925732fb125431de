"""Beam search: the beam_size most probable beginnings of each source are kept alive.

Shapes: B sources searched for, k = beam_size, K candidates of a row, T positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.scoring import length_norms, normalised_score
from dragoman.decoding.slots import add_slots, fill_holes, keep_slots, rows_of
from dragoman.decoding.strategy import Advance, Source, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis

MAX_TABLE_BEAM = 5
"""Up to here all ways to inherit are known beforehand: 3125 for 5."""


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Extensions of each source's live hypotheses, best first."""

    totals: NDArray[np.float64]
    """[B, C], log-probability of the whole hypothesis."""
    ids: NDArray[np.int64]
    """[B, C], the token it is extended by."""
    parents: NDArray[np.int64]
    """[B, C], rank of the hypothesis it extends."""

    def first(self, count: int) -> "_Candidates":
        """The best `count` of each source."""
        return _Candidates(self.totals[:, :count], self.ids[:, :count], self.parents[:, :count])

    def pick(self, columns: NDArray[np.int64]) -> "_Candidates":
        """Some of each source's candidates; `columns` is [B, C'], in the order wanted."""
        picked = (np.arange(len(columns))[:, None], columns)
        return _Candidates(self.totals[picked], self.ids[picked], self.parents[picked])


@dataclass(slots=True)
class _State:
    """By slot. What is by rank goes on in rows that `places` tells, as rows move less often than ranks."""

    max_tokens: NDArray[np.int64]  # [B]
    min_tokens: NDArray[np.int64]  # [B]
    num_tokens: NDArray[np.int64]  # [B], so far, of every live hypothesis
    norms: NDArray[np.float64]  # [B, T + 1], what a log-probability is divided by, by number of tokens
    last_ids: NDArray[np.int64]  # [B, k], by place
    places: NDArray[np.int64]  # [B, k], by rank: the row of its group that a hypothesis has
    totals: NDArray[np.float64]  # [B, k], by rank
    tokens: NDArray[np.int32]  # [B, T, k], by the rank after each step
    parents: NDArray[np.int32]  # [B, T, k], by the rank after each step: the rank before it
    best_scores: NDArray[np.float64]  # [B, k], of finished hypotheses, in no order


@dataclass(frozen=True, slots=True)
class _Ended:
    """A finished hypothesis; its tokens are read from the state when its source is done."""

    score: float
    logprob: float
    parent: int
    """Rank of the hypothesis that the end of sentence extended."""
    num_tokens: int


class Beam:
    """A `Strategy` that keeps `beam_size` live hypotheses per source.

    At each step all extensions of a source's live hypotheses are ranked together. Ends of sentence among
    the first k are finished hypotheses, other ends of sentence are dropped; the first k of the rest live on.
    Equal totals are ranked by the rank of the hypothesis extended, then by the stepper's order.

    A source is done at its limit, or when it has k finished hypotheses and the worst of the k best scores
    no less than the best live one would, ended here: the heuristic that Hugging Face Transformers names
    `early_stopping=False`. With a length penalty above 0 it may miss a longer, better hypothesis.
    """

    def __init__(self, beam_size: int, target: TargetVocabulary) -> None:
        self._beam_size = beam_size
        self._target = target
        # The k best extensions of one hypothesis that do not end, and the one that does.
        self._num_best = min(beam_size + 1, target.size)
        self._sources: list[Source] = []
        self._ended: list[list[_Ended]] = []  # by slot
        self._has_ended = False  # some hypothesis of some source
        self._state = self._begin([])
        self._lay_out()

    @property
    def beam_size(self) -> int:
        """k, rows of every source."""
        return self._beam_size

    @property
    def num_best(self) -> int:
        """K, the candidates it wants of every row."""
        return self._num_best

    @property
    def last_ids(self) -> NDArray[np.int64]:
        """The token that each row is extended by next, int64 [B * k]."""
        return self._state.last_ids.ravel()

    @property
    def sources(self) -> Sequence[Source]:
        """Those searched for, by slot."""
        return self._sources

    def join(self, sources: Sequence[Source]) -> None:
        """Begin to search for more sources, in slots after all others."""
        self._state = add_slots(self._state, self._begin(sources))
        self._sources += sources
        self._ended += [[] for _ in sources]
        self._lay_out()

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> Advance:
        """Rank a step's candidates, collect what is finished and keep the best of the rest alive.

        Args:
            logprobs: float32 [B * k, K], best first.
            ids: int64 [B * k, K].
        """
        candidates = self._rank(logprobs, ids)
        self._state.num_tokens += 1
        is_end = candidates.ids == self._target.eos_id
        if is_end.any():
            self._collect_ended(candidates, is_end)
            # The k best that go on, in their order.
            live = candidates.pick(np.argsort(is_end, axis=1, kind="stable")[:, : self._beam_size])
        else:
            live = candidates.first(self._beam_size)
        self._extend(live)
        rows = self._place(live)
        is_leaving = self._leaving()
        if is_leaving.any():
            leaving = np.flatnonzero(is_leaving).tolist()
            finished = [(self._sources[slot], self._results(slot)) for slot in leaving]
            return Advance(rows[self.leave(is_leaving)], finished)
        return Advance(None if np.array_equal(rows, self._rows) else rows, ())

    def leave(self, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Give sources up, bool [B] -> the rows that continue, int64 [B' * k]."""
        slots = fill_holes(is_leaving)
        self._state = keep_slots(self._state, slots)
        self._sources = [self._sources[slot] for slot in slots.tolist()]
        self._ended = [self._ended[slot] for slot in slots.tolist()]
        self._has_ended = any(self._ended)
        self._lay_out()
        return rows_of(slots, self._beam_size)

    def beginning(self, slot: int) -> list[int]:
        """Target ids so far of the best live hypothesis; another one may lead after the next step."""
        return self._ids(slot, rank=0, num_ids=int(self._state.num_tokens[slot]))

    def _begin(self, sources: Sequence[Source]) -> _State:
        shape = (len(sources), self._beam_size)
        max_tokens = np.array([source.limits.max_tokens for source in sources], np.int64)
        positions = int(max_tokens.max(initial=0))
        norms = np.zeros((len(sources), positions + 1))
        for slot, source in enumerate(sources):
            norms[slot] = length_norms(positions, source.length_penalty)
        totals = np.full(shape, -np.inf)
        totals[:, 0] = 0.0  # at first all hypotheses are the same empty one
        return _State(
            max_tokens=max_tokens,
            min_tokens=np.array([source.limits.min_tokens for source in sources], np.int64),
            num_tokens=np.zeros(len(sources), np.int64),
            norms=norms,
            last_ids=np.full(shape, self._target.bos_id, np.int64),
            places=np.tile(np.arange(self._beam_size), (len(sources), 1)),
            totals=totals,
            tokens=np.zeros((len(sources), positions, self._beam_size), np.int32),
            parents=np.zeros((len(sources), positions, self._beam_size), np.int32),
            best_scores=np.full(shape, -np.inf),
        )

    def _lay_out(self) -> None:
        """What depends on the number of sources alone: numpy is slow to begin, and every step needs these."""
        self._slots = np.arange(len(self._sources))
        self._first_rows = (self._slots * self._beam_size)[:, None]
        self._rows = np.arange(len(self._sources) * self._beam_size)

    def _rank(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> _Candidates:
        """The 2k best candidates of each source: k of them at least do not end, as one in a row may."""
        state, num_best = self._state, logprobs.shape[1]
        num_candidates = self._beam_size * num_best
        rows = state.places + self._first_rows  # [B, k], by rank
        totals: NDArray[np.float64] = state.totals[:, :, None] + logprobs[rows]  # [B, k, K]
        totals = totals.reshape(-1, num_candidates)
        order = (-totals).argsort(axis=1, kind="stable")[:, : 2 * self._beam_size]
        picked = order + (self._slots * num_candidates)[:, None]
        return _Candidates(totals.take(picked), ids[rows].take(picked), order // num_best)

    def _collect_ended(self, candidates: _Candidates, is_end: NDArray[np.bool_]) -> None:
        """Keep the ends of sentence among the first k candidates that the limits allow."""
        state = self._state
        may_end = state.num_tokens > state.min_tokens  # [B]
        is_ended = is_end[:, : self._beam_size] & may_end[:, None]
        for slot, rank in zip(*(axis.tolist() for axis in np.nonzero(is_ended)), strict=True):
            logprob, num_tokens = float(candidates.totals[slot, rank]), int(state.num_tokens[slot])
            score = normalised_score(logprob, num_tokens, self._sources[slot].length_penalty)
            worst = state.best_scores[slot].argmin()
            # Else k others are no worse, or it is impossible: -inf is not above the -inf of an empty place.
            if score > state.best_scores[slot, worst]:
                state.best_scores[slot, worst] = score
                parent = int(candidates.parents[slot, rank])
                self._ended[slot].append(_Ended(score, logprob, parent, num_tokens))
                self._has_ended = True

    def _extend(self, live: _Candidates) -> None:
        """Append the live candidates' tokens to the beginnings they extend."""
        state = self._state
        position = (self._slots, state.num_tokens - 1)
        state.totals = live.totals
        state.tokens[position] = live.ids
        state.parents[position] = live.parents

    def _place(self, live: _Candidates) -> NDArray[np.int64]:
        """Find a row for every live hypothesis.

        Returns:
            For each row the one it carries on from, int64 [B * k].
        """
        state = self._state
        # After its first step every row of a source has read the same, so each may stay where it is.
        is_first = (state.num_tokens == 1)[:, None]
        inherited = state.places.take(live.parents + self._first_rows)
        parent_places = np.where(is_first, state.places, inherited)
        state.places = inherit(parent_places)
        placed = state.places + self._first_rows
        state.last_ids.put(placed, live.ids)
        rows = np.empty_like(self._rows)
        rows[placed] = parent_places + self._first_rows
        return rows

    def _leaving(self) -> NDArray[np.bool_]:
        """Which sources are done, bool [B]."""
        state = self._state
        is_leaving: NDArray[np.bool_] = state.num_tokens >= state.max_tokens
        if self._has_ended:
            attainable = state.totals[:, 0] / state.norms[self._slots, state.num_tokens]
            scores = state.best_scores
            # The worst is -inf until k have finished: then only a source that cannot go on has settled.
            is_leaving |= (attainable <= scores.min(axis=1)) & (scores.max(axis=1) > -np.inf)
        return is_leaving

    def _results(self, slot: int) -> list[Hypothesis]:
        """The best hypotheses of a source that is done: ended before cut, then by score."""
        wanted = self._sources[slot].num_hypotheses
        ended = sorted(self._ended[slot], key=lambda one: -one.score)[:wanted]
        found = [
            Hypothesis(
                ids=tuple(self._ids(slot, one.parent, one.num_tokens - 1)),
                logprob=one.logprob,
                num_tokens=one.num_tokens,
                score=one.score,
                finish_reason=FinishReason.STOP,
            )
            for one in ended
        ]
        if self._state.num_tokens[slot] >= self._state.max_tokens[slot]:
            found += self._cut(slot, wanted - len(found), is_only_result=not found)
        return found

    def _cut(self, slot: int, count: int, *, is_only_result: bool) -> list[Hypothesis]:
        """Live hypotheses that the limit cuts short; impossible ones only if there is no other result."""
        num_tokens = int(self._state.num_tokens[slot])
        penalty = self._sources[slot].length_penalty
        found: list[Hypothesis] = []
        for rank, logprob in enumerate(self._state.totals[slot, :count].tolist()):
            if logprob == -np.inf and (found or not is_only_result):
                break
            ids = tuple(self._ids(slot, rank, num_tokens))
            score = normalised_score(logprob, num_tokens, penalty)
            found.append(Hypothesis(ids, logprob, num_tokens, score, FinishReason.LENGTH))
        return found

    def _ids(self, slot: int, rank: int, num_ids: int) -> list[int]:
        """Tokens of the hypothesis that had this rank when it had so many, traced back to its beginning."""
        tokens: list[list[int]] = self._state.tokens[slot, :num_ids].tolist()
        parents: list[list[int]] = self._state.parents[slot, :num_ids].tolist()
        ids: list[int] = []
        for at_position, before in zip(reversed(tokens), reversed(parents), strict=True):
            ids.append(at_position[rank])
            rank = before[rank]
        return ids[::-1]


def inherit(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give every child a place, so that as few places as possible change their content.

    Args:
        parents: int64 [B, k], the place of the parent of each child.

    Returns:
        int64 [B, k], each group a permutation: the first child of a parent stays in its place, the others
        get the places of those without children.
    """
    beam_size = parents.shape[1]
    if beam_size > MAX_TABLE_BEAM:
        return _inherit(parents)
    weights, table = _inheritances(beam_size)
    inherited: NDArray[np.int64] = table[parents @ weights]
    return inherited


@lru_cache(maxsize=MAX_TABLE_BEAM)
def _inheritances(beam_size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """`_inherit` of all there can be, [k ** k, k], and what parents [k] are multiplied by to find theirs."""
    weights = beam_size ** np.arange(beam_size)
    parents = np.arange(beam_size**beam_size)[:, None] // weights % beam_size
    return weights, _inherit(parents)


def _inherit(parents: NDArray[np.int64]) -> NDArray[np.int64]:
    slots = np.arange(len(parents))[:, None]
    first_child = (parents[:, :, None] == parents[:, None, :]).argmax(axis=2)
    is_sibling = first_child != np.arange(parents.shape[1])
    is_parent = np.zeros(parents.shape, np.bool_)
    is_parent[slots, parents] = True
    free = np.argsort(is_parent, axis=1, kind="stable")  # places without children first
    nth_sibling = np.cumsum(is_sibling, axis=1) - 1
    return np.where(is_sibling, free[slots, nth_sibling], parents)
