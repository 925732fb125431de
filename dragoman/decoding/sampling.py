"""Random sampling of targets.

Shapes: B sources, N draws of each, R rows (B x N, those of a source adjacent), K candidates of a row,
T positions.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.filters import round_up
from dragoman.decoding.options import Sampling
from dragoman.decoding.slots import add_slots, rows_of
from dragoman.decoding.strategy import CONTINUE, SlotStrategy, Source, StepOutcome, TargetVocabulary
from dragoman.types import Hypothesis


@dataclass(slots=True)
class _State:
    """State of the draws, by slot."""

    max_tokens: NDArray[np.int64]  # [B]
    num_tokens: NDArray[np.int64]  # [B], steps made
    lengths: NDArray[np.int64]  # [B, N], tokens of each draw so far
    last_ids: NDArray[np.int64]  # [B, N]
    is_ended: NDArray[np.bool_]  # [B, N]
    logprobs: NDArray[np.float64]  # [B, N], sums
    tokens: NDArray[np.int32]  # [B, N, T]
    chances: NDArray[np.float64]  # [B, N, T], random numbers from 0 to below 1, one per step


class Sampler(SlotStrategy[_State]):
    """A `Strategy` that draws `beam_size` independent targets of each source.

    Each token is drawn from the model's distribution after `temperature`, then `top_k`, then `top_p`
    (nucleus sampling, Holtzman et al. 2020, https://arxiv.org/abs/1904.09751), as in `generate` of
    Hugging Face Transformers 5. The draws of a source depend on its seed, the draw's number and the step:
    neither on the other sources nor on when it joined. A draw that has ended waits for the others of its
    source.

    Hypotheses have the log-probabilities of the candidates, before the temperature. They are sorted by
    score, best first, and may include duplicates.
    """

    @property
    def num_best(self) -> int:
        """K, the number of candidates needed per row."""
        most = max((_num_candidates(source, self._target) for source in self._sources), default=1)
        return round_up(most, self._target.size)

    def join(self, sources: Sequence[Source]) -> None:
        """Start to draw for more sources, in slots after all others.

        Raises:
            ValueError: a source has no sampling parameters, or forces the end-of-sentence id.
        """
        self._target.check_forced_ids(sources)
        self._state = add_slots(self._state, self._begin(sources))
        self._sources += sources

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> StepOutcome:
        """Draw each row's next token.

        Args:
            logprobs: float32 [R, K], best first.
            ids: int64 [R, K].
        """
        for slot in range(len(self._sources)):
            rows = slice(slot * self._beam_size, (slot + 1) * self._beam_size)
            self._extend(slot, logprobs[rows], ids[rows])
        state = self._state
        state.num_tokens += 1
        is_leaving = state.is_ended.all(axis=1) | (state.num_tokens >= state.max_tokens)
        if not is_leaving.any():
            return CONTINUE
        finished = [
            (self._sources[slot], self._results(slot)) for slot in np.flatnonzero(is_leaving).tolist()
        ]
        return StepOutcome(self.remove(is_leaving), finished)

    def remove(self, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Remove sources, bool [B] -> the rows that continue, int64 [R']."""
        return rows_of(self._keep_staying(is_leaving), self._beam_size)

    def best_ids(self, slot: int) -> list[int]:
        """Return the best draw's ids so far, without those of `begin`; another draw may be best next."""
        return list(self._results(slot)[0].ids) if self._state.num_tokens[slot] else []

    def _begin(self, sources: Sequence[Source]) -> _State:
        shape = (len(sources), self._beam_size)
        max_tokens = np.array([source.limits.max_tokens for source in sources], np.int64)
        chances = np.zeros((*shape, max_tokens.max(initial=0)))
        for slot, source in enumerate(sources):
            _sampling_of(source)
            for draw in range(self._beam_size):
                chances[slot, draw, : max_tokens[slot]] = _chances(source.seed, draw, int(max_tokens[slot]))
        starts = np.array([source.begin[0] for source in sources], np.int64)
        return _State(
            max_tokens=max_tokens,
            num_tokens=np.zeros(len(sources), np.int64),
            lengths=np.zeros(shape, np.int64),
            last_ids=np.full(shape, starts[:, None]),
            is_ended=np.zeros(shape, np.bool_),
            logprobs=np.zeros(shape),
            tokens=np.zeros(chances.shape, np.int32),
            chances=chances,
        )

    def _extend(self, slot: int, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> None:
        """Extend a source's draws that have not ended by one token; its candidates are [N, K]."""
        state, source = self._state, self._sources[slot]
        num_tokens = int(state.num_tokens[slot])
        if num_tokens < source.num_forced:
            picked_ids = np.full(self._beam_size, source.forced(num_tokens))
            picked_logprobs = np.zeros(self._beam_size)
        else:
            if num_tokens < source.limits.min_tokens:
                logprobs, ids = self._without_end(logprobs, ids)
            columns = draw_columns(logprobs, _sampling_of(source), state.chances[slot, :, num_tokens])[
                :, None
            ]
            picked_ids = np.take_along_axis(ids, columns, axis=1)[:, 0]
            picked_logprobs = np.take_along_axis(logprobs, columns, axis=1)[:, 0].astype(np.float64)
        is_live = ~state.is_ended[slot]
        np.copyto(state.last_ids[slot], picked_ids, where=is_live)
        state.logprobs[slot] += np.where(is_live, picked_logprobs, 0.0)
        state.tokens[slot, :, num_tokens] = picked_ids
        state.lengths[slot] += is_live
        state.is_ended[slot] |= picked_ids == self._target.eos_id

    def _without_end(
        self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the candidates with the end of sentence last and impossible."""
        is_end = ids == self._target.eos_id
        logprobs = np.where(is_end, np.float32(-np.inf), logprobs)
        order = np.argsort(is_end, axis=1, kind="stable")
        return np.take_along_axis(logprobs, order, axis=1), np.take_along_axis(ids, order, axis=1)

    def _results(self, slot: int) -> list[Hypothesis]:
        """Return a source's draws so far, best score first; of equals, the one with the lower number."""
        hypotheses = [self._hypothesis(slot, draw) for draw in range(self._beam_size)]
        return sorted(hypotheses, key=lambda one: -one.score)[: self._sources[slot].num_hypotheses]

    def _hypothesis(self, slot: int, draw: int) -> Hypothesis:
        state, source = self._state, self._sources[slot]
        num_tokens, is_ended = int(state.lengths[slot, draw]), bool(state.is_ended[slot, draw])
        ids = state.tokens[slot, draw, source.num_hidden_forced : num_tokens - is_ended].tolist()
        return source.hypothesis(ids, float(state.logprobs[slot, draw]), num_tokens, is_stopped=is_ended)


def draw_columns(
    logprobs: NDArray[np.float32], sampling: Sampling, chances: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Draw one candidate of each row.

    Args:
        logprobs: float32 [R, K], best first.
        sampling: the sampling parameters.
        chances: float64 [R], random numbers, uniform from 0 to below 1.

    Returns:
        int64 [R], columns; the first if no candidate is possible.
    """
    if sampling.top_k:
        logprobs = logprobs[:, : sampling.top_k]
    best = np.where(np.isfinite(logprobs[:, :1]), logprobs[:, :1], np.float32(0.0))
    with np.errstate(over="ignore"):  # at a low temperature some become impossible
        weights = np.exp((logprobs - best).astype(np.float64) / sampling.temperature)
    up_to = weights.cumsum(axis=1)
    before = np.zeros_like(up_to)
    before[:, 1:] = up_to[:, :-1]
    num_kept = np.count_nonzero(before < sampling.top_p * up_to[:, -1:], axis=1)
    last = np.maximum(num_kept - 1, 0)
    points = chances * up_to[np.arange(len(last)), last]
    # Rounding may move a chance just below 1 to the very end.
    columns: NDArray[np.int64] = np.minimum(np.count_nonzero(up_to <= points[:, None], axis=1), last)
    return columns


def segment_seed(sampling: Sampling, segment: int) -> int:
    """Return the seed of a text's n-th segment: each has its own; random if `sampling` has no seed."""
    if sampling.seed is None:
        return secrets.randbits(64)
    return int(np.random.SeedSequence((sampling.seed, segment)).generate_state(1, np.uint64)[0])


def _chances(seed: int, draw: int, count: int) -> NDArray[np.float64]:
    """Return a random number for each step, float64 [count]; the n-th does not depend on `count`.

    The generator is counter-based (Philox, Salmon et al. 2011, https://doi.org/10.1145/2063384.2063405), so
    that each draw of each seed has a sequence of its own.
    """
    key = np.array([seed, draw], np.uint64)
    return np.random.Generator(np.random.Philox(key=key)).random(count)


def _sampling_of(source: Source) -> Sampling:
    if source.sampling is None:
        raise ValueError("the method `sample` requires sampling options")
    return source.sampling


def _num_candidates(source: Source, target: TargetVocabulary) -> int:
    """Return the candidates needed per row: `top_k` and one more, in case the end comes too early."""
    top_k = _sampling_of(source).top_k
    return min(top_k + 1, target.size) if top_k else target.size
