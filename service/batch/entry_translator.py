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
from dragoman.types import FinishReason, Pair, Priority, Translation
from service.batch.texts import EntryTranslator, Outcome, TranslatedEntry, UntranslatedEntry, failed_check
from service.formats.entries import Entry
from service.markup.options import MarkupError
from service.markup.parsed_markup import ParsedMarkup, parse
from service.protection.modes import PlaceholderMode
from service.protection.text_context import TextContext
from service.protection.text_plan import PlanResult, TextPlan, plan_text
from service.protection.unknown_words import UnknownWords

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
    placeholders: PlaceholderMode = PlaceholderMode.AUTO

    def translate(self, entries: Iterable[Entry]) -> Iterator[Outcome]:
        """Yield an outcome for each entry, in order.

        Plain texts are not aligned, as alignment takes time. The engine runs empty between files with markup
        and files without, but not within a file that has both.

        Raises:
            UnsupportedPair: no model serves the pair.
            InputError: an option exceeds the model's limits.
            TranslatorClosed: the translator was closed.
        """
        route = self.router.route(self.source, self.target, self.model)
        unknown_words = UnknownWords(self.router, route, self.options.terminology)
        context = TextContext(*route.pair, find_unknown=unknown_words.find)
        plans = (_plan(entry, context, self.placeholders) for entry in entries)
        for is_aligned, alike in groupby(_windows(plans, self.read_ahead), _needs_alignment):
            yield from self._translate(alike, is_aligned=is_aligned)

    def _translate(self, windows: Iterable[Sequence["_Plan"]], *, is_aligned: bool) -> Iterator[Outcome]:
        plans: deque[_Plan] = deque()

        def texts() -> Iterator[str]:
            for window in windows:
                for plan in window:
                    plans.append(plan)
                    yield from plan.texts

        for piece in self._run(texts(), is_aligned=is_aligned):
            yield from self._pop_complete(plans)
            plans[0].pieces.append(piece)
            yield from self._pop_complete(plans)
        yield from self._pop_complete(plans)

    def _pop_complete(self, plans: deque["_Plan"]) -> Iterator[Outcome]:
        """Remove the first plans as long as all their texts are translated, and yield their outcomes.

        Texts whose placeholders were damaged are tried again meanwhile.
        """
        while plans and len(plans[0].pieces) == len(plans[0].texts):
            plan = plans.popleft()
            while texts := plan.texts_to_try_again():
                plan.pieces = list(self._run(texts, is_aligned=plan.needs_alignment))
            yield plan.outcome()

    def _run(self, texts: Iterable[str], *, is_aligned: bool) -> Iterator[SegmentOutput]:
        options = replace(self.options, return_alignment=True) if is_aligned else self.options
        request = EngineRequest(options, priority=Priority.JOB, cache_partition=self.cache_partition)
        return self.router.translate_many(
            texts, self.source, self.target, request, self.read_ahead, model=self.model
        )


class UnchangedTranslator:
    """An `EntryTranslator` for entries that are already in the target language."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[Outcome]:
        """Yield each entry unchanged."""
        return (TranslatedEntry(entry.text) for entry in entries)


def translator_for(
    router: Router,
    pair: Pair,
    options: DecodingOptions = BATCH,
    *,
    model: str | None = None,
    read_ahead: int = READ_AHEAD_TEXTS,
    cache_partition: str = "",
    placeholders: PlaceholderMode = PlaceholderMode.AUTO,
) -> EntryTranslator:
    """Return the translator of a pair of languages; equal ones leave entries unchanged."""
    if pair.source == pair.target:
        return UnchangedTranslator()
    return RoutedEntryTranslator(router, *pair, options, model, read_ahead, cache_partition, placeholders)


@dataclass(slots=True, eq=False)
class _Plan:
    """The texts to translate of one entry, and their results so far."""

    texts: Sequence[str]
    marked: ParsedMarkup | None = None
    problem: str | None = None
    """Why the entry cannot be translated; None if it can."""
    protection: TextPlan | None = None
    pieces: list[SegmentOutput] = field(default_factory=list)

    @property
    def needs_alignment(self) -> bool:
        return self.marked is not None or (self.protection is not None and self.protection.needs_alignment)

    def texts_to_try_again(self) -> Sequence[str]:
        """Return texts whose placeholders are damaged."""
        parts = self._parts()
        if self.protection is None or len(parts) < len(self.pieces):
            return ()
        self.protection.take_translations(parts)
        self.texts = self.protection.texts
        return self.texts

    def outcome(self) -> Outcome:
        problems = [piece.problem for piece in self.pieces if isinstance(piece, InputError)]
        if self.problem is not None or problems:
            return UntranslatedEntry(self.problem or problems[0])
        parts = self._parts()
        if self.protection is not None:
            return _checked_outcome(self.protection.result)
        text = parts[0].text if self.marked is None else self.marked.rejoin(parts)
        return _translated(text, parts)

    def _parts(self) -> list[Translation]:
        return [piece.translation for piece in self.pieces if not isinstance(piece, InputError)]


def _checked_outcome(found: PlanResult) -> Outcome:
    if found.failures:
        return UntranslatedEntry(failed_check(found.failures[0]))
    return _translated(found.text, found.translations)


def _translated(text: str, parts: Sequence[Translation]) -> TranslatedEntry:
    is_cut = any(part.finish_reason is FinishReason.LENGTH for part in parts)
    confidences = [part.confidence for part in parts if part.confidence is not None]
    return TranslatedEntry(text, is_cut, confidence=min(confidences, default=None))


def _plan(entry: Entry, context: TextContext, placeholders: PlaceholderMode) -> _Plan:
    try:
        marked = None if entry.markup is None else parse(entry.text, entry.markup)
    except MarkupError as error:
        return _Plan((), problem=error.problem)
    protection: TextPlan | PlanResult | None = None
    if placeholders is PlaceholderMode.AUTO:
        protection = plan_text(entry.text, marked, replace(context, is_message=entry.is_message))
    if isinstance(protection, PlanResult):
        return _Plan((), problem=failed_check(protection.failures[0]))
    if protection is not None:
        return _Plan(protection.texts, marked, protection=protection)
    return _Plan((entry.text,) if marked is None else marked.blocks, marked)


def _windows(plans: Iterable[_Plan], size: int) -> Iterator[list[_Plan]]:
    remaining = iter(plans)
    while window := list(islice(remaining, size)):
        yield window


def _needs_alignment(window: Sequence[_Plan]) -> bool:
    return any(plan.needs_alignment for plan in window)
