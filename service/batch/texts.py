"""The interface of translators for batch jobs, and the possible outcomes of an entry."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from service.formats.entries import Entry
from service.formats.review_marks import TextOrigin
from service.protection.checks import CheckFailure


@dataclass(frozen=True, slots=True)
class TranslatedEntry:
    """An entry in the target language."""

    text: str
    is_cut: bool = False
    """Whether a segment reached its length limit, so that the text may be incomplete."""
    origin: TextOrigin = TextOrigin.MACHINE
    confidence: float | None = None
    """Confidence of the model, 0 to 1; None unless scores are computed."""


@dataclass(frozen=True, slots=True)
class UntranslatedEntry:
    """An entry that could not be translated."""

    problem: str

    @property
    def check(self) -> str | None:
        """Name of the check that the translation failed; None if there was no translation."""
        found = _FAILED_CHECK.match(self.problem)
        return None if found is None else found[1]


_FAILED_CHECK = re.compile(r"check (\w+): ")


def failed_check(failure: CheckFailure) -> str:
    """Return the problem of an entry whose translation failed a check."""
    return f"check {failure.check}: {failure.problem}; the translation was not used"


Outcome = TranslatedEntry | UntranslatedEntry


class OnFailure(StrEnum):
    """What is written for an entry that could not be translated."""

    SOURCE = "source"
    """The source text of the entry."""
    EMPTY = "empty"


class EntryTranslator(Protocol):
    """Translates entries independently of each other."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[Outcome]:
        """Yield an outcome for each entry, lazily and in order, with enough in progress to fill the engine.

        Raises:
            TranslatorClosed: the translator was closed; entries without an outcome must be sent again.
        """
        ...
