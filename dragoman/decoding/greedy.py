"""Greedy search: pick the best token at each step.

Shapes: B sources searched for, one row each, K candidates of a row, T positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.slots import add_slots
from dragoman.decoding.strategy import CONTINUE, SlotStrategy, Source, StepOutcome, TargetVocabulary
from dragoman.types import Hypothesis


@dataclass(slots=True)
class _State:
    """State of the search, by slot."""

    max_tokens: NDArray[np.int64]  # [B]
    min_tokens: NDArray[np.int64]  # [B]
    num_tokens: NDArray[np.int64]  # [B], so far
    last_ids: NDArray[np.int64]  # [B]
    logprobs: NDArray[np.float64]  # [B], sums
    tokens: NDArray[np.int32]  # [B, T]


class Greedy(SlotStrategy[_State]):
    """A `Strategy` with one hypothesis per source."""

    def __init__(self, target: TargetVocabulary) -> None:
        super().__init__(1, target)
        self._slots = np.arange(0)
        self._early_steps = 0  # remaining steps in which some sentence may not end yet
        self._forced_steps = 0  # remaining steps in which some token may be forced

    @property
    def num_best(self) -> int:
        """K: two candidates while some sentence may not end yet, else one."""
        return 2 if self._early_steps else 1

    def join(self, sources: Sequence[Source]) -> None:
        """Start the search for more sources, in slots after all others."""
        self._target.check_forced_ids(sources)
        new = self._begin(sources)
        self._state = add_slots(self._state, new)
        self._sources += sources
        self._slots = np.arange(len(self._sources))
        self._early_steps = max(self._early_steps, int(new.min_tokens.max(initial=0)))
        self._forced_steps = max(self._forced_steps, *(source.num_forced for source in sources), 0)

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> StepOutcome:
        """Take each row's best token, the second best if the sentence may not end yet, or a forced one.

        Args:
            logprobs: float32 [B, K], best first.
            ids: int64 [B, K].
        """
        state = self._state
        state.last_ids[:] = ids[:, 0]
        picked = logprobs[:, 0]
        if self._early_steps:
            self._early_steps -= 1
            is_early = (state.last_ids == self._target.eos_id) & (state.num_tokens < state.min_tokens)
            np.copyto(state.last_ids, ids[:, -1], where=is_early)
            picked = np.where(is_early, logprobs[:, -1], picked)
        if self._forced_steps:
            self._forced_steps -= 1
            picked = self._force(picked)
        state.logprobs += picked
        state.tokens[self._slots, state.num_tokens] = state.last_ids
        state.num_tokens += 1

        is_stopped = state.last_ids == self._target.eos_id
        is_leaving = is_stopped | (state.num_tokens >= state.max_tokens)
        if not is_leaving.any():
            return CONTINUE
        finished = [
            (self._sources[slot], [self._hypothesis(slot, is_stopped=bool(is_stopped[slot]))])
            for slot in np.flatnonzero(is_leaving).tolist()
        ]
        return StepOutcome(self.remove(is_leaving), finished)

    def remove(self, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Remove sources, bool [B] -> the rows that continue, int64 [B']."""
        slots = self._keep_staying(is_leaving)
        self._slots = np.arange(len(slots))
        if not self._sources:
            self._early_steps = self._forced_steps = 0
        return slots

    def best_ids(self, slot: int) -> list[int]:
        """Return the target ids so far, without those that `Source.begin` forces."""
        first = self._sources[slot].num_hidden_forced
        ids: list[int] = self._state.tokens[slot, first : self._state.num_tokens[slot]].tolist()
        return ids

    def _force(self, picked: NDArray[np.float32]) -> NDArray[np.float32]:
        """Replace picked tokens by forced ones; return the log-probabilities, float32 [B]."""
        state = self._state
        logprobs = picked.copy()
        for slot, num_tokens in enumerate(state.num_tokens.tolist()):
            source = self._sources[slot]
            if num_tokens < source.num_forced:
                state.last_ids[slot] = source.forced(num_tokens)
                logprobs[slot] = 0.0
        return logprobs

    def _begin(self, sources: Sequence[Source]) -> _State:
        num_sources = len(sources)
        max_tokens = np.array([source.limits.max_tokens for source in sources], np.int64)
        return _State(
            max_tokens=max_tokens,
            min_tokens=np.array([source.limits.min_tokens for source in sources], np.int64),
            num_tokens=np.zeros(num_sources, np.int64),
            last_ids=np.array([source.begin[0] for source in sources], np.int64),
            logprobs=np.zeros(num_sources),
            tokens=np.zeros((num_sources, max_tokens.max(initial=0)), np.int32),
        )

    def _hypothesis(self, slot: int, *, is_stopped: bool) -> Hypothesis:
        ids = self.best_ids(slot)
        num_tokens = int(self._state.num_tokens[slot])
        logprob = float(self._state.logprobs[slot])
        text_ids = ids[:-1] if is_stopped else ids
        return self._sources[slot].hypothesis(text_ids, logprob, num_tokens, is_stopped=is_stopped)
