"""Restriction of byte pieces to well-formed UTF-8: the bytes of a target form whole characters.

A vocabulary with byte fallback spells what it has no piece for in bytes, one piece each. A search may
choose them in any order; few orders are text.

Shapes: B sources, R rows (those of a source adjacent), K candidates of a row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.filters import round_up
from dragoman.decoding.slots import add_slots, keep_slots
from dragoman.decoding.strategy import OuterStrategy, Source, StepOutcome, Strategy, TargetVocabulary

SPARE_CANDIDATES = 3
"""Extra candidates of a row between characters, for bytes that begin none. They cost nothing measurable."""
CANDIDATES_INSIDE = 64
"""Minimum candidates of a row inside a character, where at most as many bytes may follow. Shortlists are at
least as wide."""
NO_BYTE = 256
"""Byte value of a piece that is not a byte."""
BETWEEN = 0
"""State of a row between two characters."""
MAY_END = 9
MAY_REPLACE = 10
_AUTOMATON: tuple[tuple[tuple[int, int, int], ...], ...] = (
    (
        (0x09, 0x0A, BETWEEN),  # other ASCII control characters are not allowed in XML
        (0x0D, 0x0D, BETWEEN),
        (0x20, 0x7E, BETWEEN),
        (0xC2, 0xDF, 1),
        (0xE0, 0xE0, 4),
        (0xE1, 0xEC, 2),
        (0xED, 0xED, 5),
        (0xEE, 0xEE, 2),
        (0xEF, 0xEF, 6),
        (0xF0, 0xF0, 7),
        (0xF1, 0xF3, 3),
        (0xF4, 0xF4, 8),
        (NO_BYTE, NO_BYTE, BETWEEN),
    ),
    ((0x80, 0xBF, BETWEEN),),
    ((0x80, 0xBF, 1),),
    ((0x80, 0xBF, 2),),
    ((0xA0, 0xBF, 1),),
    ((0x80, 0x9F, 1),),
    ((0x80, 0xBE, 1), (0xBF, 0xBF, MAY_END)),
    ((0x90, 0xBF, 2),),
    ((0x80, 0x8F, 2),),
    ((0x80, 0xBC, BETWEEN),),  # U+FFFD would be next, then two noncharacters
    ((0x80, 0xBD, BETWEEN),),
)
"""For each state, first and last byte that may follow, and the next state. RFC 3629, section 4."""


@dataclass(slots=True)
class _Rows:
    """UTF-8 state by row."""

    states: NDArray[np.uint8]  # [R], BETWEEN, or the position inside a character
    num_considered: NDArray[np.int64]  # [R], number of candidates considered between two characters
    can_spell_replacement: NDArray[np.bool_]  # [R], whether bytes may spell U+FFFD


class Utf8Strategy(OuterStrategy):
    """A `Strategy` that passes only candidates that form valid UTF-8 to an inner one.

    Inside a character these are the bytes that continue it, elsewhere everything but bytes that begin no
    character. Control characters are not spelled, nor is U+FFFD unless the source has it.

    Log-probabilities stay as they are. A row inside a character considers its 64 best candidates, other rows
    a few more than the inner strategy needs; the number does not depend on other rows. If none of them may
    follow, the row continues unconstrained: its unfinished character is invalid, and `Tokenizer.decode` drops
    it.
    """

    def __init__(self, inner: Strategy, target: TargetVocabulary) -> None:
        """Wrap `inner`, which must have no sources yet."""
        super().__init__(inner, target)
        self._bytes = np.full(target.size, NO_BYTE, np.int64)
        self._bytes[list(target.byte_ids)] = list(target.byte_ids.values())
        self._legal, self._next = utf8_tables()
        self._is_byte = self._bytes != NO_BYTE
        self._is_illegal_between = ~self._legal[BETWEEN][self._bytes]
        self._rows = self._begin([])
        self._prepare_step()

    @property
    def num_best(self) -> int:
        """K of the inner strategy, or more if some candidates may not be able to follow."""
        return max(self._inner.num_best, self._num_best)

    def join(self, sources: Sequence[Source]) -> None:
        """Start the search for more sources, in slots after all others."""
        self._inner.join(sources)
        self._rows = add_slots(self._rows, self._begin(sources))
        self._prepare_step()

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> StepOutcome:
        """Pass the best candidates that may follow to the inner strategy.

        Args:
            logprobs: float32 [R, K], best first.
            ids: int64 [R, K].
        """
        if self._is_inside or np.logical_or.reduce(self._is_illegal_between.take(ids), axis=None):
            logprobs, ids = self._constrain(logprobs, ids)
        num_best = self._inner.num_best
        advance = self._inner.advance(logprobs[:, :num_best], ids[:, :num_best])
        rows, last_ids = advance.rows, self._inner.last_ids
        # Beams of a source that swap rows between two characters have no state to move.
        has_left = rows is not None and len(rows) < len(self._rows.states)
        if rows is not None and (has_left or self._is_inside):
            self._rows = keep_slots(self._rows, rows)
        if self._is_inside or np.logical_or.reduce(self._is_byte.take(last_ids)):
            self._update_states(self._bytes[last_ids])
            self._prepare_step()
        elif has_left:
            self._prepare_step()
        return advance

    def remove(self, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Remove sources, bool [B] -> the rows that continue, int64 [R']."""
        rows = self._inner.remove(is_leaving)
        self._rows = keep_slots(self._rows, rows)
        self._prepare_step()
        return rows

    def _begin(self, sources: Sequence[Source]) -> _Rows:
        beam_size = self._inner.beam_size
        num_considered = np.array([self._num_between(source) for source in sources], np.int64)
        can_spell_replacement = np.array([source.can_spell_replacement for source in sources], np.bool_)
        return _Rows(
            states=np.full(len(sources) * beam_size, BETWEEN, np.uint8),
            num_considered=num_considered.repeat(beam_size),
            can_spell_replacement=can_spell_replacement.repeat(beam_size),
        )

    def _num_between(self, source: Source) -> int:
        """Return the candidates between two characters: enough for this source, whatever others need."""
        num_wanted = self._inner.beam_size + 1
        if source.sampling is not None:
            num_wanted = source.sampling.top_k + 1 if source.sampling.top_k else self._target.size
        return round_up(num_wanted + SPARE_CANDIDATES, self._target.size)

    def _prepare_step(self) -> None:
        """Compute what the next step needs, once: numpy calls have overhead, and most steps need the same."""
        rows = self._rows
        self._is_inside = bool(rows.states.any())
        self._num_looked_at = rows.num_considered
        if self._is_inside:
            least = np.where(rows.states == BETWEEN, 0, min(CANDIDATES_INSIDE, self._target.size))
            self._num_looked_at = np.maximum(rows.num_considered, least)
        self._num_best = int(self._num_looked_at.max(initial=0))

    def _constrain(
        self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return candidates that may follow, best first, then the rest at -inf; float32 and int64 [R, K]."""
        is_looked_at = np.arange(ids.shape[1]) < self._num_looked_at[:, None]
        may_follow = self._legal[self._rows.states[:, None], self._bytes[ids]] & is_looked_at
        is_continuable = may_follow & (logprobs > -np.inf) & (ids != self._target.eos_id)
        is_stuck = ~is_continuable.any(axis=1, keepdims=True)
        logprobs = np.where(may_follow | (is_stuck & is_looked_at), logprobs, np.float32(-np.inf))
        order = np.argsort(-logprobs, axis=1, kind="stable")
        return np.take_along_axis(logprobs, order, axis=1), np.take_along_axis(ids, order, axis=1)

    def _update_states(self, last_bytes: NDArray[np.int64]) -> None:
        """Update each row's state after these bytes, int64 [R]."""
        rows = self._rows
        rows.states = self._next[rows.states, last_bytes]
        rows.states[(rows.states == MAY_END) & rows.can_spell_replacement] = MAY_REPLACE


class Utf8Automaton:
    """Tokens that may follow in a state of the bytes, for strategies that keep each hypothesis's state."""

    def __init__(self, byte_ids: Mapping[int, int]) -> None:
        self._byte_ids = byte_ids
        self._legal, self._next = utf8_tables()

    def may_follow(self, state: int, token: int) -> bool:
        """Return whether a token may follow in a state."""
        return bool(self._legal[state, self._byte_ids.get(token, NO_BYTE)])

    def continuations(self, state: int) -> list[int]:
        """Return the bytes that may follow inside a character; none between two characters."""
        if state == BETWEEN:
            return []
        return [token for token, byte in self._byte_ids.items() if self._legal[state, byte]]

    def after(self, state: int, token: int, can_spell_replacement: bool) -> int:  # noqa: FBT001 -- a fact about the source
        """Return the state after a token."""
        following = int(self._next[state, self._byte_ids.get(token, NO_BYTE)])
        return MAY_REPLACE if following == MAY_END and can_spell_replacement else following


@lru_cache(1)
def utf8_tables() -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
    """Return, by state and byte, whether the byte may follow, and the state after it.

    A byte that may not follow starts a new character.
    """
    legal = np.zeros((len(_AUTOMATON), NO_BYTE + 1), np.bool_)
    after = np.zeros(legal.shape, np.uint8)
    for state, ranges in enumerate(_AUTOMATON):
        after[state] = after[BETWEEN]
        for first, last, next_state in ranges:
            legal[state, first : last + 1] = True
            after[state, first : last + 1] = next_state
    return legal, after
