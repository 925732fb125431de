"""The interface of translators for batch jobs, and the possible outcomes of an entry."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from service.formats.entries import Entry
from service.formats.review_marks import TextOrigin
from service.text.checks import CheckFailure
from service.text.marked_text import MarkedText


@dataclass(frozen=True, slots=True)
class TranslatedEntry:
    """An entry in the target language."""

    marked: MarkedText
    is_cut: bool = False
    """Whether a segment reached its length limit, so that the text may be incomplete."""
    origin: TextOrigin = TextOrigin.MACHINE
    confidence: float | None = None
    """Confidence of the model, 0 to 1; None unless scores are computed."""
    problem: str | None = None
    """What somebody has to look at; None if no check failed."""

    @property
    def check(self) -> str | None:
        """Name of the check that the translation failed; None without one."""
        return _name_of_check(self.problem or "")


@dataclass(frozen=True, slots=True)
class UntranslatedEntry:
    """An entry that could not be translated."""

    problem: str

    @property
    def check(self) -> str | None:
        """Name of the check that the translation failed; None if there was no translation."""
        return _name_of_check(self.problem)


_FAILED_CHECK = re.compile(r"check (\w+): ")


def _name_of_check(problem: str) -> str | None:
    found = _FAILED_CHECK.match(problem)
    return None if found is None else found[1]


def failed_check(failure: CheckFailure, *, is_source: bool) -> str:
    """Return the problem of an entry whose translation failed a check."""
    consequence = "the translation was not used" if is_source else "review the translation"
    return f"check {failure.check}: {failure.problem}; {consequence}"


Outcome = TranslatedEntry | UntranslatedEntry


class EntryTranslator(Protocol):
    """Translates entries independently of each other."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[Outcome]:
        """Yield an outcome for each entry, lazily and in order, with enough in progress to fill the engine.

        Raises:
            TranslatorClosed: the translator was closed; entries without an outcome must be sent again.
        """
        ...
