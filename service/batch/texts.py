"""The interface of translators for batch jobs, and the possible outcomes of an entry."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from service.formats.entries import Entry


@dataclass(frozen=True, slots=True)
class Translated:
    """An entry in the target language."""

    text: str
    is_cut: bool = False
    """Whether a segment reached its length limit, so that the text may be incomplete."""


@dataclass(frozen=True, slots=True)
class Untranslated:
    """An entry that could not be translated."""

    problem: str


Outcome = Translated | Untranslated


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
