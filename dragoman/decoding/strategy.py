"""What a search strategy is: it picks tokens among a step's candidates and keeps the hypotheses.

Shapes: B sources searched for, R rows (B x beam_size, the beams of a source side by side), K candidates of
a row.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.decoding.options import Sampling
from dragoman.errors import InputError
from dragoman.types import Hypothesis


@dataclass(frozen=True, slots=True)
class TargetLimits:
    """How long the target of one source may be.

    Raises:
        InputError: no target could keep to these limits.
    """

    max_tokens: int
    """Most target tokens: the forced ones of `Source.begin` and `Source.prefix` and the end-of-sentence one
    count, the one that starts the decoder does not. Hugging Face's `max_length` less 1."""
    min_tokens: int
    """Fewest target tokens before the end-of-sentence one; forced ones count here as well."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError("max_length", f"{self.max_tokens} is not at least 1")
        if not 0 <= self.min_tokens <= self.max_tokens:
            raise InputError("min_length", f"{self.min_tokens} is not between 0 and {self.max_tokens}")


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """What joins a search, or a reading. Compared by identity: the same text asked for twice is two sources.

    Raises:
        InputError: `limits` leave no room for a token after the forced ones, or not for the given ones.
    """

    ids: Sequence[int]
    """All that the encoder reads."""
    limits: TargetLimits
    begin: tuple[int, ...]
    """What its target begins with, at least one id. The first starts the decoder and is no token of the
    target; the others are forced: taken with log-probability 0, whatever the model says, counted in
    `num_tokens`, and left out of the hypotheses' ids. None of those may be the end-of-sentence id."""
    length_penalty: float = 1.0
    num_hypotheses: int = 1
    """At most the rows of the search it joins."""
    early_stopping: bool = False
    """Done with as many finished hypotheses as the beam is wide, whatever the others might still score."""
    prefix: tuple[int, ...] = ()
    """What comes next, forced in the same way, but kept in the hypotheses' ids; no end-of-sentence id."""
    repetition_penalty: float = 1.0
    """At least 1. Looked at by searches of the methods `filtered` and `sample`, as the next one."""
    no_repeat_ngram_size: int = 0
    sampling: Sampling | None = None
    """Looked at by the method `sample`, which needs it. Its seed is not: `seed` is."""
    seed: int = 0
    """What is drawn for it follows from this alone; below 2 ** 64."""
    may_replace: bool = False
    """Whether U+FFFD, the replacement character, may be spelled in bytes: where the source has it."""
    given: tuple[int, ...] | None = None
    """The target to be read, without the end-of-sentence id and without what `begin` forces; it begins with
    `prefix`. For the methods `score` and `align`, which need it."""

    def __post_init__(self) -> None:
        if not self.begin:
            raise ValueError("a target begins with one id at least: the one that starts the decoder")
        most = self.limits.max_tokens
        if most <= self.num_left_out:
            raise InputError(
                "max_length",
                f"{most} leaves no room after the {self.num_left_out} tokens that a target begins with; at "
                f"least {self.num_left_out + 1} are needed",
            )
        if most <= self.num_forced:
            raise InputError(
                "target_prefix",
                f"its {len(self.prefix)} tokens leave no room for others among the "
                f"{most - self.num_left_out} that the target may have; shorten it, or raise max_length",
            )
        if self.given is not None:
            self._check_given(self.given)

    @property
    def num_forced(self) -> int:
        """Forced tokens of its target: those of `begin` and those of `prefix`."""
        return len(self.begin) - 1 + len(self.prefix)

    @property
    def num_left_out(self) -> int:
        """Tokens of its target that its hypotheses' ids leave out: the forced ones of `begin`."""
        return len(self.begin) - 1

    def forced(self, position: int) -> int:
        """The id that is forced as the n-th token of its target, counted from 0; n is below `num_forced`."""
        return (*self.begin[1:], *self.prefix)[position]

    def _check_given(self, given: tuple[int, ...]) -> None:
        if given[: len(self.prefix)] != self.prefix:
            raise ValueError(f"the given target {given} does not begin with its prefix {self.prefix}")
        most = self.limits.max_tokens - self.num_left_out
        if len(given) > most:
            raise InputError("target", f"{len(given)} tokens are over the limit of {most}")


@dataclass(frozen=True, slots=True)
class TargetVocabulary:
    """What a strategy must know of the target's tokens."""

    eos_id: int
    """Ends every target."""
    size: int
    """At least 2: the end-of-sentence token and something to say."""
    byte_ids: Mapping[int, int] = field(default_factory=dict)
    """The byte that a piece stands for, by its id; empty where the vocabulary spells nothing in bytes."""

    def __post_init__(self) -> None:
        if self.size < 2:  # noqa: PLR2004 -- the field's docstring says why 2
            raise ValueError(f"a vocabulary of {self.size} has nothing but the end of the sentence")

    def check_begins(self, sources: Sequence[Source]) -> None:
        """Refuse a source whose target would have to end before it says anything.

        Raises:
            ValueError: the end-of-sentence id is forced.
        """
        for source in sources:
            for begin in (source.begin[1:], source.prefix):
                if self.eos_id in begin:
                    raise ValueError(f"{begin} ends a target that it should begin: {self.eos_id} is its end")


class Advance(NamedTuple):
    """What a step led to."""

    rows: NDArray[np.int64] | None
    """The rows to select before the next step, int64 [R']; None if every row simply continues."""
    finished: Sequence[tuple[Source, list[Hypothesis]]]
    """Sources that are done and have left, each with at least one hypothesis and at most
    `num_hypotheses`, best first, whether the model ended them or the limit cut them."""


CONTINUE = Advance(None, ())


class Strategy(Protocol):
    """Picks tokens among a step's candidates and keeps the hypotheses of sources that come and go.

    What it finds for a source depends on that source's candidates alone: neither on the sources beside it
    nor on when it joined.
    """

    @property
    def beam_size(self) -> int:
        """Rows of every source."""
        ...

    @property
    def num_best(self) -> int:
        """K, the candidates it wants of every row in the next step."""
        ...

    @property
    def last_ids(self) -> NDArray[np.int64]:
        """The token that each row is extended by next, int64 [R]."""
        ...

    @property
    def sources(self) -> Sequence[Source]:
        """Those searched for, by slot: source i has the i-th group of rows."""
        ...

    def join(self, sources: Sequence[Source]) -> None:
        """Begin to search for more sources, in slots after all others.

        Raises:
            ValueError: a source's target must begin with the end-of-sentence id; none has joined.
        """
        ...

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> Advance:
        """Take in a step's candidates.

        Args:
            logprobs: float32 [R, K], best first.
            ids: int64 [R, K].
        """
        ...

    def leave(self, is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Give sources up.

        Args:
            is_leaving: bool [B], per slot.

        Returns:
            The rows to select before the next step, int64 [R'].
        """
        ...

    def beginning(self, slot: int) -> list[int]:
        """Target ids so far of a source's best hypothesis, without those that `Source.begin` forces."""
        ...
