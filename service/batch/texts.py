"""The interface of translators for batch jobs."""

from collections.abc import Iterable, Iterator
from typing import Protocol

from service.formats.entries import Entry
from service.text.outcome import TextOutcome


class EntryTranslator(Protocol):
    """Translates entries independently of each other."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[TextOutcome]:
        """Yield an outcome for each entry, lazily and in order, with enough in progress to fill the engine.

        Raises:
            TranslatorClosed: the translator was closed; entries without an outcome must be sent again.
        """
        ...
