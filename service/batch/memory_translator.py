"""Translations of entries from a memory, where it has an equal text; a translator gets the others."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path

from dragoman.types import Pair
from service.batch.errors import InputProblem
from service.batch.files import input_errors
from service.batch.texts import EntryTranslator
from service.formats.entries import Entry
from service.memories.pairs import SegmentPair, fitting_targets, source_digest
from service.memories.repair import Repair, repair_none, repairer
from service.memories.tmx import TmxPairs
from service.text.marked_text import MarkedText
from service.text.outcome import TextOrigin, TextOutcome

WINDOW_ENTRIES = 256
FindTargets = Callable[[Sequence[str]], Sequence[str | None]]
"""Returns the translation of each text; None if there is none."""
_Window = list[tuple[Entry, TextOutcome | None]]


@dataclass(frozen=True, slots=True)
class MemoryTranslator:
    """An `EntryTranslator` that uses a memory before another one, which gets all entries with marks."""

    translator: EntryTranslator
    find_targets: FindTargets
    repair: Repair = repair_none
    """Translates a text that the memory has with other numbers; it counts as translated by a model."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[TextOutcome]:
        """Yield an outcome for each entry, in order."""
        # The translator reads ahead: windows without work for it must not gather in between.
        for is_known, windows in groupby(self._windows(entries), _is_known):
            if is_known:
                yield from (outcome for window in windows for _, outcome in window if outcome is not None)
            else:
                yield from self._translate(windows)

    def _windows(self, entries: Iterable[Entry]) -> Iterator[_Window]:
        remaining = iter(entries)
        while window := list(islice(remaining, WINDOW_ENTRIES)):
            found = iter(self.find_targets([entry.text for entry in window if entry.marked.is_plain]))
            yield [
                (entry, self._known(entry.text, next(found)) if entry.marked.is_plain else None)
                for entry in window
            ]

    def _known(self, text: str, target: str | None) -> TextOutcome | None:
        if target is not None:
            return TextOutcome(MarkedText(target), origin=TextOrigin.MEMORY)
        repaired = self.repair(text)
        return None if repaired is None else TextOutcome(MarkedText(repaired))

    def _translate(self, windows: Iterable[_Window]) -> Iterator[TextOutcome]:
        waiting: deque[TextOutcome | None] = deque()

        def unknown() -> Iterator[Entry]:
            for window in windows:
                for entry, known in window:
                    waiting.append(known)
                    if known is None:
                        yield entry

        for outcome in self.translator.translate(unknown()):
            yield from _known_first(waiting)
            waiting.popleft()
            yield outcome
        yield from _known_first(waiting)


def _is_known(window: _Window) -> bool:
    return all(known is not None for _, known in window)


def _known_first(waiting: deque[TextOutcome | None]) -> Iterator[TextOutcome]:
    """Remove the outcomes from the memory that come before the next entry of the translator; yield them."""
    while waiting and (known := waiting[0]) is not None:
        waiting.popleft()
        yield known


def read_tmx(path: Path, pair: Pair) -> Mapping[bytes, SegmentPair]:
    """Return the pairs of a TMX file by the digest of their sources; of equal sources, the last one counts.

    Raises:
        InputProblem: the file cannot be read, or has no pair in these languages.
    """
    with input_errors(str(path)), path.open("rb") as source:
        pairs = {source_digest(each.source): each for each in TmxPairs(source, pair)}
    if not pairs:
        raise InputProblem(((str(path), f"has no unit with segments in {pair.source} and {pair.target}"),))
    return pairs


def with_tmx(translator: EntryTranslator, path: Path, pair: Pair, threshold: float = 1.0) -> EntryTranslator:
    """Return a translator that uses a TMX file first; see `repairer`. Raises InputProblem."""
    pairs = read_tmx(path, pair)
    repair = repairer(pairs.values(), threshold, pair)
    return MemoryTranslator(translator, lambda texts: fitting_targets(texts, pairs), repair)
