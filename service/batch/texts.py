"""What a job needs of whatever translates for it, and what becomes of each text."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from service.formats.entries import Entry


@dataclass(frozen=True, slots=True)
class Translated:
    """An entry in the target language."""

    text: str
    is_cut: bool = False
    """Whether a segment reached its length limit, so that something may be missing."""


@dataclass(frozen=True, slots=True)
class Untranslated:
    """An entry that could not be translated."""

    problem: str


Outcome = Translated | Untranslated


class EntryTranslator(Protocol):
    """Translates entries one by one: what becomes of one has nothing to do with the others."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[Outcome]:
        """An outcome for each entry, in their order; lazily, with so many under way as fill the engine.

        Raises:
            TranslatorClosed: it ended; what was not given must be asked again.
        """
        ...
