"""Outcome of a text: for requests, journals, clusters and the writers of files alike."""

import re
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from service.text.marked_text import MarkedText

if TYPE_CHECKING:  # at run time, it would load the engine into each process that writes a file
    from dragoman.types import Translation


class Check(StrEnum):
    """Kind of check of a translation."""

    PLACEHOLDERS = "placeholders"
    """Each placeholder occurs as often as in the source, and those without a name or number in its order.
    Addresses, paths and code occur at least as often.
    """
    TAGS = "tags"
    """Each tag occurs as often as in the source."""
    NUMBERS = "numbers"
    """Each number of the source occurs."""
    LENGTH = "length"
    """It is at most three times as long as the source, and not shorter than a third."""
    EMPTY = "empty"
    ICU = "icu"
    """An ICU message is well-formed."""


@dataclass(frozen=True, slots=True)
class CheckFailure:
    """A check that failed."""

    check: Check
    problem: str
    """Description of the fault, with the part of the text."""

    def __str__(self) -> str:
        return f"{self.check}: {self.problem}"


class TextOrigin(StrEnum):
    """Author of a text: a model, a memory, or nobody."""

    MACHINE = "machine"
    """A model."""
    MEMORY = "memory"
    """A translation memory, with an exact match."""
    SOURCE = "source"
    """Nobody: it is the text itself, which could not be translated."""


@dataclass(frozen=True, slots=True)
class TextOutcome:
    """A text in the target language."""

    marked: MarkedText
    """The translation; the source if `is_source`."""
    translation: "Translation | None" = None
    """The same with scores and segments, whose positions are those of the source's and the translation's own
    characters; None without a translation, and in a journal."""
    failed: tuple[CheckFailure, ...] = ()
    """Checks that the translation failed after all tries; in a journal the first one."""
    origin: TextOrigin = TextOrigin.MACHINE
    is_cut: bool = False
    """Whether a segment reached its length limit, so that the text may be incomplete."""
    confidence: float | None = None
    """Confidence of the model, 0 to 1; None unless scores are computed."""
    rejection: str | None = None
    """Why the engine does not take the text; None if it does."""

    @property
    def is_source(self) -> bool:
        """Return whether no translation is used: there is none, or a failed check would break a program."""
        return self.origin is TextOrigin.SOURCE

    @property
    def problem(self) -> str | None:
        """Return the problem to look at; None if no check failed. `with_problem` reads it."""
        if not self.failed:
            return self.rejection
        consequence = "the translation was not used" if self.is_source else "review the translation"
        return f"check {self.failed[0]}; {consequence}"

    def with_problem(self, problem: str | None) -> "TextOutcome":
        """Return the outcome with a `problem`."""
        found = _FAILED_CHECK.fullmatch(problem or "")
        if found is None:
            return replace(self, rejection=problem)
        return replace(self, failed=(CheckFailure(Check(found[1]), found[2]),))


_FAILED_CHECK = re.compile(rf"check ({'|'.join(Check)}): (.*); [a-z ]+", re.DOTALL)
