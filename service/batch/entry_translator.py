"""Translation of entries through a router: plain texts as a whole, marked-up ones block by block."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice

from dragoman.decoding.options import DecodingOptions
from dragoman.errors import InputError
from dragoman.pipeline.engine_request import EngineRequest
from dragoman.routing.results import RoutedTranslation
from dragoman.routing.router import Router
from dragoman.translator import READ_AHEAD_TEXTS
from dragoman.types import FinishReason, Pair, Priority
from service.batch.texts import EntryTranslator, Outcome, Translated, Untranslated
from service.formats.entries import Entry
from service.markup.marked_up import ParsedMarkup, parse
from service.markup.options import MarkupError

BATCH = DecodingOptions(return_scores=False)

SegmentOutput = RoutedTranslation | InputError


@dataclass(frozen=True, slots=True)
class RoutedEntryTranslator:
    """An `EntryTranslator` that uses a router, for one pair of languages."""

    router: Router
    source: str | None
    target: str | None
    options: DecodingOptions = BATCH
    model: str | None = None
    """The only bundle to use."""
    read_ahead: int = READ_AHEAD_TEXTS
    """Maximum number of texts in progress: enough to fill the engine, few enough to keep in memory."""
    cache_partition: str = ""
    """Partition of the engine's segment cache."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[Outcome]:
        """Yield an outcome for each entry, in order.

        Plain texts are not aligned, as alignment takes time. The engine runs empty between files with markup
        and files without, but not within a file that has both.

        Raises:
            UnsupportedPair: no model serves the pair.
            InputError: an option exceeds the model's limits.
            TranslatorClosed: the translator was closed.
        """
        windows = groupby(_windows(entries, self.read_ahead), _has_markup)
        for has_markup, alike in windows:
            options = replace(self.options, return_alignment=True) if has_markup else self.options
            yield from self._translate(alike, options)

    def _translate(self, windows: Iterable[Sequence[Entry]], options: DecodingOptions) -> Iterator[Outcome]:
        plans: deque[_Plan] = deque()

        def texts() -> Iterator[str]:
            for window in windows:
                for entry in window:
                    plan = _plan(entry)
                    plans.append(plan)
                    yield from plan.texts

        pieces = self.router.translate_many(
            texts(),
            self.source,
            self.target,
            EngineRequest(options, priority=Priority.JOB, cache_partition=self.cache_partition),
            self.read_ahead,
            model=self.model,
        )
        for piece in pieces:
            yield from _pop_complete(plans)
            plans[0].pieces.append(piece)
            yield from _pop_complete(plans)
        yield from _pop_complete(plans)


class UnchangedTranslator:
    """An `EntryTranslator` for entries that are already in the target language."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[Outcome]:
        """Yield each entry unchanged."""
        return (Translated(entry.text) for entry in entries)


def translator_for(
    router: Router,
    pair: Pair,
    options: DecodingOptions = BATCH,
    *,
    model: str | None = None,
    read_ahead: int = READ_AHEAD_TEXTS,
    cache_partition: str = "",
) -> EntryTranslator:
    """Return the translator of a pair of languages; equal ones leave entries unchanged."""
    if pair.source == pair.target:
        return UnchangedTranslator()
    return RoutedEntryTranslator(router, *pair, options, model, read_ahead, cache_partition)


@dataclass(frozen=True, slots=True)
class _Plan:
    """The texts to translate of one entry, and their results so far."""

    texts: tuple[str, ...]
    marked: ParsedMarkup | None
    problem: str | None
    """Why the entry cannot be translated; None if it can."""
    pieces: list[SegmentOutput] = field(default_factory=list)

    def outcome(self) -> Outcome:
        problems = [piece.problem for piece in self.pieces if isinstance(piece, InputError)]
        if self.problem is not None or problems:
            return Untranslated(self.problem or problems[0])
        parts = [piece.translation for piece in self.pieces if not isinstance(piece, InputError)]
        text = parts[0].text if self.marked is None else self.marked.rejoin(parts)
        return Translated(text, any(part.finish_reason is FinishReason.LENGTH for part in parts))


def _plan(entry: Entry) -> _Plan:
    if entry.markup is None:
        return _Plan((entry.text,), None, None)
    try:
        marked = parse(entry.text, entry.markup)
    except MarkupError as error:
        return _Plan((), None, error.problem)
    return _Plan(marked.blocks, marked, None)


def _pop_complete(plans: deque[_Plan]) -> Iterator[Outcome]:
    """Remove the first plans as long as all their texts are translated, and yield their outcomes."""
    while plans and len(plans[0].pieces) == len(plans[0].texts):
        yield plans.popleft().outcome()


def _windows(entries: Iterable[Entry], size: int) -> Iterator[list[Entry]]:
    remaining = iter(entries)
    while window := list(islice(remaining, size)):
        yield window


def _has_markup(window: Sequence[Entry]) -> bool:
    return any(entry.markup is not None for entry in window)
