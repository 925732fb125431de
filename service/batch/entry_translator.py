"""Translation of entries through a router, by the plans that requests have as well."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice

from dragoman.errors import InputError
from dragoman.pipeline.engine_request import EngineRequest
from dragoman.pipeline.pacing import never_pause, pause_of
from dragoman.routing.results import RoutedTranslation
from dragoman.routing.router import Router
from dragoman.translator import JOB_REQUEST, READ_AHEAD_TEXTS
from dragoman.types import Pair, Translation
from service.batch.texts import EntryTranslator
from service.formats.entries import Entry
from service.text.context import TextContext, route_context
from service.text.outcome import TextOutcome
from service.text.showing import ShownText
from service.text.text_plan import Plan, plan_text
from service.translation.options import BATCH, TranslationOptions

MAX_UNFINISHED_WINDOWS = 4
"""Maximum read-aheads of entries that wait for one that needs alignment: the engine runs empty around it."""


@dataclass(frozen=True, slots=True)
class RoutedEntryTranslator:
    """An `EntryTranslator` that uses a router, for one pair of languages."""

    router: Router
    source: str | None
    target: str | None
    options: TranslationOptions = BATCH
    read_ahead: int = READ_AHEAD_TEXTS
    """Maximum number of texts in progress: enough to fill the engine, few enough to keep in memory."""
    request: EngineRequest = JOB_REQUEST
    """Request whose texts these are, which may be cancelled; its options are not used."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[TextOutcome]:
        """Yield an outcome for each entry, in order.

        Texts without marks are not aligned, as alignment takes time. The engine runs empty between files
        with marks and files without, but not within a file that has both.

        Raises:
            UnsupportedPair: no model serves the pair.
            InputError: an option exceeds the model's limits.
            TranslatorClosed: the translator was closed.
        """
        route = self.router.route(self.source, self.target, self.options.model)
        context = route_context(self.router, route, self.options.decoding, self.options.placeholders)
        context = replace(context, pause=never_pause)
        contexts = context, replace(context, is_message=True)
        plans = (self._plan(entry, contexts[entry.is_message]) for entry in entries)
        for is_aligned, alike in groupby(_windows(plans, self.read_ahead), _needs_alignment):
            yield from self._translate(alike, is_aligned=is_aligned)

    def _plan(self, entry: Entry, context: TextContext) -> "_PlannedEntry":
        pause = pause_of(len(entry.text), self.request.is_cancelled)
        context = context if pause is never_pause else replace(context, pause=pause)
        return _PlannedEntry(plan_text(entry.marked, context))

    def _translate(
        self, windows: Iterable[Sequence["_PlannedEntry"]], *, is_aligned: bool
    ) -> Iterator[TextOutcome]:
        """Yield the outcomes of entries that are translated as one stream.

        What is to be tried again goes into the running stream before new texts. Only calls that need
        alignment in a stream without are made apart, together with all such calls that wait.
        """
        stream = _Stream(windows, is_aligned=is_aligned)
        outcomes = self._run(stream.texts(), is_aligned=is_aligned)
        while True:
            for outcome in outcomes:
                stream.take(outcome)
                yield from self._pop_finished(stream, MAX_UNFINISHED_WINDOWS * self.read_ahead)
            if not stream.again:
                break
            outcomes = self._run(stream.retries(), is_aligned=is_aligned)
        yield from self._pop_finished(stream, 0)

    def _pop_finished(self, stream: "_Stream", max_unfinished: int) -> Iterator[TextOutcome]:
        """Remove the first entries as long as they are finished, and yield their outcomes.

        Calls that need alignment wait until more entries than `max_unfinished` do.
        """
        unfinished = stream.unfinished
        while unfinished:
            if not stream.is_aligned and unfinished[0].needs_alignment:
                if len(unfinished) <= max_unfinished:
                    return
                self._align([planned for planned in unfinished if planned.needs_alignment])
            if unfinished[0].calls:
                return
            yield unfinished.popleft().outcome()

    def _align(self, planned: Sequence["_PlannedEntry"]) -> None:
        """Make the calls of entries that need alignment, until none is left."""
        while remaining := [each for each in planned if each.calls]:
            calls = [(each, call) for each in remaining for call in each.calls]
            outcomes = self._run([call.text for _, call in calls], is_aligned=True)
            for (each, _), outcome in zip(calls, outcomes, strict=True):
                each.take(outcome)

    def _run(self, texts: Iterable[str], *, is_aligned: bool) -> Iterator[RoutedTranslation | InputError]:
        decoding = self.options.decoding
        decoding = replace(decoding, return_alignment=True) if is_aligned else decoding
        request = replace(self.request, options=decoding)
        return self.router.translate_many(
            texts, self.source, self.target, request, self.read_ahead, model=self.options.model
        )


class UnchangedTranslator:
    """An `EntryTranslator` for entries that are already in the target language."""

    def translate(self, entries: Iterable[Entry]) -> Iterator[TextOutcome]:
        """Yield each entry unchanged."""
        return (TextOutcome(entry.marked) for entry in entries)


def translator_for(
    router: Router,
    pair: Pair,
    options: TranslationOptions = BATCH,
    *,
    read_ahead: int = READ_AHEAD_TEXTS,
    request: EngineRequest = JOB_REQUEST,
) -> EntryTranslator:
    """Return the translator of a pair of languages; equal ones leave entries unchanged."""
    if pair.source == pair.target:
        return UnchangedTranslator()
    return RoutedEntryTranslator(router, *pair, options, read_ahead, request)


@dataclass(slots=True, eq=False)
class _PlannedEntry:
    """The plan of an entry, and the outcomes of its calls so far."""

    plan: Plan
    calls: Sequence[ShownText] = field(init=False)
    """Calls to make now; none if the entry is finished."""
    needs_alignment: bool = field(init=False)
    _taken: list[Translation | InputError] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._set_calls()

    def _set_calls(self) -> None:
        self.calls = self.plan.calls
        self.needs_alignment = any(call.is_aligned for call in self.calls)

    def take(self, outcome: RoutedTranslation | InputError) -> bool:
        """Take the outcome of the next call; return whether that was the last one, and others follow."""
        self._taken.append(outcome if isinstance(outcome, InputError) else outcome.translation)
        if len(self._taken) < len(self.calls):
            return False
        self.plan.take(iter(self._taken))
        self._taken = []
        self._set_calls()
        return bool(self.calls)

    def outcome(self) -> TextOutcome:
        """Return the outcome as journals keep it."""
        outcome = self.plan.outcome
        return replace(outcome, translation=None, failed=outcome.failed[:1])


@dataclass(slots=True, eq=False)
class _Stream:
    """Entries that are translated as one stream of texts."""

    windows: Iterable[Sequence[_PlannedEntry]]
    is_aligned: bool = field(kw_only=True)
    unfinished: deque[_PlannedEntry] = field(default_factory=deque)
    """Entries in order, until their outcomes are yielded."""
    again: deque[_PlannedEntry] = field(default_factory=deque)
    """Entries with further calls."""
    _in_progress: deque[_PlannedEntry] = field(default_factory=deque)
    """The entry of each text that the engine has."""

    def texts(self) -> Iterator[str]:
        """Yield the texts of all calls; what is to be tried again comes before new texts."""
        for window in self.windows:
            for planned in window:
                yield from self.retries()
                self.unfinished.append(planned)
                yield from self._begin(planned)
        yield from self.retries()

    def retries(self) -> Iterator[str]:
        """Yield the texts of further calls."""
        while self.again:
            yield from self._begin(self.again.popleft())

    def take(self, outcome: RoutedTranslation | InputError) -> None:
        """Take the outcome of the first text in progress."""
        planned = self._in_progress.popleft()
        if planned.take(outcome) and (self.is_aligned or not planned.needs_alignment):
            self.again.append(planned)

    def _begin(self, planned: _PlannedEntry) -> Iterator[str]:
        for call in planned.calls:
            self._in_progress.append(planned)
            yield call.text


def _windows(plans: Iterable[_PlannedEntry], size: int) -> Iterator[list[_PlannedEntry]]:
    remaining = iter(plans)
    while window := list(islice(remaining, size)):
        yield window


def _needs_alignment(window: Sequence[_PlannedEntry]) -> bool:
    return any(planned.needs_alignment for planned in window)
