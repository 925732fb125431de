"""The interface of search strategies, which pick tokens among a step's candidates and keep the hypotheses.

Shapes: B sources searched for, R rows (B x beam_size, the beams of a source adjacent), K candidates of
a row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.constraints import Constraints
from dragoman.decoding.options import Sampling
from dragoman.decoding.scoring import normalised_score
from dragoman.decoding.slots import close_gaps, keep_slots
from dragoman.errors import InputError
from dragoman.types import FinishReason, ForcedDecoding, Hypothesis


@dataclass(frozen=True, slots=True)
class TargetLimits:
    """Limits on the length of one source's target.

    Raises:
        InputError: no target can satisfy these limits.
    """

    max_tokens: int
    """Maximum target tokens, including the forced ones of `Source.begin` and `Source.prefix` and the
    end-of-sentence one, but not the one that starts the decoder. Hugging Face's `max_length` less 1."""
    min_tokens: int
    """Minimum target tokens before the end-of-sentence one; includes forced tokens."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError("max_length", f"{self.max_tokens} is not at least 1")
        if not 0 <= self.min_tokens <= self.max_tokens:
            raise InputError("min_length", f"{self.min_tokens} is not between 0 and {self.max_tokens}")


@dataclass(slots=True, eq=False)
class Source:  # one for each segment: frozen, it would take five times as long to make
    """Input of a search or a forced decoding. Compared by identity: equal texts are separate sources.

    Raises:
        InputError: `limits` allow no token after the forced ones, or too few for the `given` target.
    """

    ids: Sequence[int]
    """Ids that the encoder reads."""
    limits: TargetLimits
    begin: tuple[int, ...]
    """First ids of the target, at least one. The first starts the decoder and is not a target token; the
    others are forced: they get log-probability 0, whatever the model predicts, count in `num_tokens`, and are
    left out of the hypotheses' ids. None of them may be the end-of-sentence id."""
    length_penalty: float = 1.0
    num_hypotheses: int = 1
    """Maximum number of results, at most the beam size of the search."""
    early_stopping: bool = False
    """Finish once `beam_size` hypotheses are finished, whatever the live ones might still score."""
    prefix: tuple[int, ...] = ()
    """Forced ids after `begin`, kept in the hypotheses' ids; no end-of-sentence id among them."""
    repetition_penalty: float = 1.0
    """At least 1. Only methods `filtered` and `sample` apply it and `no_repeat_ngram_size`."""
    no_repeat_ngram_size: int = 0
    sampling: Sampling | None = None
    """Required by the method `sample`, ignored by others. Its seed is ignored; `seed` applies."""
    seed: int = 0
    """The only source of randomness of its draws; below 2 ** 64."""
    can_spell_replacement: bool = False
    """Whether bytes may spell U+FFFD, the replacement character; true if the source contains it."""
    wants_attention: bool = False
    """Whether hypotheses should have their attention to the source. Only searches on native kernels and
    on those for GPUs return it; other methods and kernels leave it to forced decoding."""
    constraints: Constraints | None = None
    """Required and forbidden phrases. Only the method `constrained` applies them."""
    target_ids: tuple[int, ...] | None = None
    """Target to decode by force: begins with `prefix`, has neither the end-of-sentence id nor the ids that
    `begin` forces. Required by the methods `score` and `align`."""

    def __post_init__(self) -> None:
        if not self.begin:
            raise ValueError("begin must contain at least the id that starts the decoder")
        most = self.limits.max_tokens
        if most <= self.num_hidden_forced:
            raise InputError(
                "max_length",
                f"{most} is too small: this model forces the first {self.num_hidden_forced} target tokens; "
                f"use at least {self.num_hidden_forced + 1}",
            )
        if most <= self.num_forced:
            raise InputError(
                "target_prefix",
                f"{len(self.prefix)} tokens are too many for a target of at most "
                f"{most - self.num_hidden_forced}; shorten the prefix, or increase max_length",
            )
        if self.target_ids is not None:
            self._check_given(self.target_ids)

    @property
    def num_forced(self) -> int:
        """Number of forced target tokens, from `begin` and `prefix`."""
        return len(self.begin) - 1 + len(self.prefix)

    @property
    def num_hidden_forced(self) -> int:
        """Number of target tokens left out of the hypotheses' ids: those that `begin` forces."""
        return len(self.begin) - 1

    def forced(self, position: int) -> int:
        """Return the id forced as target token `position`, from 0 to below `num_forced`."""
        return (*self.begin[1:], *self.prefix)[position]

    def hypothesis(
        self,
        ids: Sequence[int],
        logprob: float,
        num_tokens: int,
        *,
        is_stopped: bool,
        reading: ForcedDecoding | None = None,
    ) -> Hypothesis:
        """Return a hypothesis of this source with its score; see there for the arguments."""
        score = normalised_score(logprob, max(1, num_tokens), self.length_penalty)
        reason = FinishReason.STOP if is_stopped else FinishReason.LENGTH
        return Hypothesis(tuple(ids), logprob, num_tokens, score, reason, reading)

    def _check_given(self, given: tuple[int, ...]) -> None:
        if given[: len(self.prefix)] != self.prefix:
            raise ValueError(f"target_ids {given} do not begin with the prefix {self.prefix}")
        most = self.limits.max_tokens - self.num_hidden_forced
        if len(given) > most:
            raise InputError("target", f"{len(given)} tokens are over the limit of {most}")


def _is_same_word(language: str, word: str, other: str) -> bool:  # noqa: ARG001 -- needs no language
    return word == other


@dataclass(frozen=True, slots=True)
class TargetVocabulary:
    """Facts about the target's tokens that a strategy needs."""

    eos_id: int
    """Id of the token that ends every target."""
    size: int
    """Number of ids, at least 2: the end-of-sentence token and one other."""
    byte_ids: Mapping[int, int] = field(default_factory=dict)
    """Byte value of each byte piece, by id; empty if the vocabulary has no byte pieces."""
    text_of: Callable[[int], str] = str
    """The text that an id adds to a target, with the space before it. Only constrained search asks."""
    is_inflected: Callable[[str, str, str], bool] = _is_same_word
    """Whether, in a language, the second word is a form of the first. Only constrained search asks."""

    def __post_init__(self) -> None:
        if self.size < 2:  # noqa: PLR2004 -- explained in the field's docstring
            raise ValueError(f"a vocabulary of size {self.size} is too small; it needs 2 or more ids")

    def check_forced_ids(self, sources: Sequence[Source]) -> None:
        """Reject sources whose target would end before its first token of text.

        Raises:
            ValueError: the end-of-sentence id is forced.
        """
        for source in sources:
            for begin in (source.begin[1:], source.prefix):
                if self.eos_id in begin:
                    raise ValueError(f"forced ids {begin} contain the end-of-sentence id {self.eos_id}")


class StepOutcome(NamedTuple):
    """Outcome of a step."""

    rows: NDArray[np.int64] | None
    """Rows to select before the next step, int64 [R']; None if every row continues in place."""
    finished: Sequence[tuple[Source, list[Hypothesis]]]
    """Sources that are done and have left. Each has 1 to `num_hypotheses` hypotheses, best first, ended by
    the model or cut at the limit."""


CONTINUE = StepOutcome(None, ())


class Strategy(Protocol):
    """Picks tokens among a step's candidates and keeps the hypotheses of sources that join and leave.

    The result for a source depends only on that source's candidates: neither on the other sources nor on
    when it joined.
    """

    @property
    def beam_size(self) -> int:
        """Number of rows per source."""
        ...

    @property
    def num_best(self) -> int:
        """K, the number of candidates needed per row in the next step."""
        ...

    @property
    def last_ids(self) -> NDArray[np.int64]:
        """The token that each row reads next, int64 [R]."""
        ...

    @property
    def sources(self) -> Sequence[Source]:
        """Sources searched for, by slot: source i has the i-th group of rows."""
        ...

    def join(self, sources: Sequence[Source]) -> None:
        """Start the search for more sources, in slots after all others.

        Raises:
            ValueError: a source forces the end-of-sentence id; none of the sources has joined.
        """
        ...

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> StepOutcome:
        """Process a step's candidates.

        Args:
            logprobs: float32 [R, K], best first.
            ids: int64 [R, K].
        """
        ...

    def remove(self, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Remove sources.

        Args:
            is_leaving: bool [B], per slot.

        Returns:
            Rows to select before the next step, int64 [R'].
        """
        ...

    def best_ids(self, slot: int) -> list[int]:
        """Return the target ids so far of a source's best hypothesis, without those `Source.begin` forces."""
        ...


class SlotState(Protocol):
    """State of a strategy: a dataclass of arrays with one entry per slot along the first axis."""

    last_ids: NDArray[np.int64]
    """The token that each row of a source reads next, [B, ...]."""


State = TypeVar("State", bound=SlotState)


class SlotStrategy(Generic[State]):
    """Base of strategies that keep their state in arrays by slot."""

    def __init__(self, beam_size: int, target: TargetVocabulary) -> None:
        self._beam_size = beam_size
        self._target = target
        self._sources: list[Source] = []
        self._state = self._begin([])

    @property
    def beam_size(self) -> int:
        """Number of rows per source."""
        return self._beam_size

    @property
    def last_ids(self) -> NDArray[np.int64]:
        """The token that each row reads next, int64 [R]."""
        return self._state.last_ids.ravel()

    @property
    def sources(self) -> Sequence[Source]:
        """Sources searched for, by slot."""
        return self._sources

    def _begin(self, sources: Sequence[Source]) -> State:
        """Return the state of sources that join."""
        raise NotImplementedError

    def _keep_staying(self, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Remove sources, bool [B]; return the old slot of each new one, int64 [B']."""
        slots = close_gaps(is_leaving)
        self._state = keep_slots(self._state, slots)
        self._sources = [self._sources[slot] for slot in slots.tolist()]
        return slots


class OuterStrategy:
    """Base of strategies that change the candidates of an inner one."""

    def __init__(self, inner: Strategy, target: TargetVocabulary) -> None:
        """Wrap `inner`, which must have no sources yet."""
        self._inner = inner
        self._target = target

    @property
    def beam_size(self) -> int:
        """Number of rows per source."""
        return self._inner.beam_size

    @property
    def last_ids(self) -> NDArray[np.int64]:
        """The token that each row reads next, int64 [R]."""
        return self._inner.last_ids

    @property
    def sources(self) -> Sequence[Source]:
        """Sources searched for, by slot."""
        return self._inner.sources

    def best_ids(self, slot: int) -> list[int]:
        """Return the target ids so far of a source's best hypothesis, without those `Source.begin` forces."""
        return self._inner.best_ids(slot)
