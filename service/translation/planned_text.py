"""One text of a request: its language and route, its calls to the engine, and its result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman import EngineRequest, InputError
from dragoman.pipeline.pacing import pause_of
from dragoman.routing.results import RoutedTranslation
from dragoman.routing.router import Router
from dragoman.routing.routes import Route
from dragoman.translator import DEFAULT_REQUEST
from dragoman.types import Alternative, FinishReason, SegmentTranslation, Translation
from service.memories.pairs import TextMatches
from service.text.context import route_context
from service.text.marked_text import MarkedText
from service.text.options import MarkupError, MarkupOptions
from service.text.outcome import TextOutcome
from service.text.reading import ReadText, read_markup
from service.text.showing import ShownText
from service.text.text_plan import Plan, plan_text
from service.text.tokens import InlineItem
from service.text.writing import write_markup
from service.translation.inference import EngineCall, Outcome
from service.translation.request import UNDETERMINED, DetectedSource, TranslationRequest, TranslationResult
from service.translation.source_language import DetectionMode, resolve_source


class TextsRejectedError(Exception):
    """Some texts of a request cannot be translated; the others could be."""

    def __init__(self, problems: Sequence[tuple[int, str]]) -> None:
        super().__init__(f"{len(problems)} texts cannot be translated")
        self.problems = tuple(problems)
        """Position in the request, and what is wrong."""


@dataclass(slots=True, eq=False)
class PlannedText:
    """The plans for one text, and the translations so far."""

    unchanged: TranslationResult | None
    """Result of a text that no model translates."""
    route: Route | None = None
    detected: DetectedSource | None = None
    """None if the caller named the source language."""
    request: EngineRequest = DEFAULT_REQUEST
    """The options and the sender of the text."""
    markup: MarkupOptions | None = None
    parts: Sequence[ReadText | InlineItem] = ()
    """The markup; empty for plain text."""
    plans: Sequence[Plan] = ()
    """One for each text of the markup, or for the plain text."""
    matches: TextMatches | None = None
    """Matches of a translation memory for the text; None without a memory."""
    calls: Sequence[EngineCall] = ()
    """Calls to make now; none if the text is done."""
    num_streamed: int = 0
    """Number of segments that were sent before the text was done."""
    _routed: RoutedTranslation | None = None

    def prepare(self) -> None:
        """Set the calls of the plans; a context is that of the first one."""
        if self.route is None:
            return
        shown = [one for plan in self.plans for one in plan.calls]
        is_first = self._routed is None
        self.calls = [
            EngineCall(self.route, one.text, self._request_of(one, has_context=is_first and not position))
            for position, one in enumerate(shown)
        ]

    def _request_of(self, shown: ShownText, *, has_context: bool) -> EngineRequest:
        options = self.request.options
        if not shown.is_aligned and (has_context or not options.context):
            return self.request
        context = options.context if has_context else ""
        is_aligned = shown.is_aligned or options.return_alignment
        return replace(self.request, options=replace(options, context=context, return_alignment=is_aligned))

    @property
    def problem(self) -> str | None:
        """Why the text cannot be translated, once there are no more calls; None if it can."""
        outcomes = (plan.outcome for plan in self.plans)
        return next((outcome.rejection for outcome in outcomes if outcome.rejection is not None), None)

    def take_outcomes(self, outcomes: Iterator[Outcome]) -> None:
        """Take the outcome of each call; segments that are not right make further calls."""
        if not self.calls:
            return
        translations = map(self._translation, outcomes)
        for plan in self.plans:
            plan.take(translations)
        self.prepare()

    def _translation(self, outcome: Outcome) -> Translation | InputError:
        if isinstance(outcome, InputError):
            return outcome
        self._routed = outcome
        return outcome.translation

    def take_segment(self, segment: SegmentTranslation) -> SegmentTranslation | None:
        """Return a segment of the only call as one of the text, if it and all before it are right."""
        [plan] = self.plans
        taken = plan.take_segment(segment) if plan.can_stream else None
        self.num_streamed += taken is not None
        return taken

    def shown_beginning(self, text: str) -> str | None:
        """Return what may be sent of an unfinished segment: all before what may become a stand-in.

        None if segments before it are not right, or if the text is not sent in segments.
        """
        [plan] = self.plans
        return text.partition("%")[0] if plan.can_stream else None

    def result(self) -> TranslationResult:
        """Return the result, once there are no more calls."""
        if self.unchanged is not None:
            return replace(self.unchanged, matches=self.matches)
        if self.route is None:
            raise ValueError("the text has neither a result nor a route")
        outcomes = [plan.outcome for plan in self.plans]
        failed = tuple(failure for outcome in outcomes for failure in outcome.failed)
        pair = self.route.pair
        if self.markup is not None:
            text, parts = _write(self.parts, outcomes, self.markup), tuple[RoutedTranslation, ...]()
        else:
            [outcome] = outcomes
            text, parts = outcome.marked.text, ()
            if self._routed is not None:
                translation = _left(text) if outcome.is_source else outcome.translation
                parts = (replace(self._routed, translation=translation or _left(text)),)
        alternatives = tuple(other.text for part in parts for other in part.translation.alternatives[1:])
        return TranslationResult(
            text,
            source=pair.source,
            target=pair.target,
            detected=self.detected,
            route=self.route if parts or self.markup is not None else None,
            parts=parts,
            alternatives=alternatives,
            failed_checks=failed,
            matches=self.matches,
        )


def _left(text: str) -> Translation:
    """Return the translation of a text that stays as it is."""
    return Translation(text, None, FinishReason.COPIED, (), (Alternative(text, None),))


def _write(
    parts: Sequence[ReadText | InlineItem], outcomes: Sequence[TextOutcome], markup: MarkupOptions
) -> str:
    remaining = iter(outcomes)
    return "".join(
        write_markup(part, next(remaining), markup.language) if isinstance(part, ReadText) else part.raw
        for part in parts
    )


def known_text(matches: TextMatches, request: TranslationRequest) -> PlannedText | None:
    """Return the plan of a text that a translation memory translates; None if it does not."""
    if matches.target is None:
        return None
    target, source = request.target or UNDETERMINED, request.source or UNDETERMINED
    return PlannedText(TranslationResult(matches.target, source=source, target=target), matches=matches)


def plan_one(
    text: str, request: TranslationRequest, sender: EngineRequest, router: Router, detection: DetectionMode
) -> PlannedText:
    """Return the plan of a text of a request.

    Raises:
        InputError: the text's markup or language cannot be read, or the request is wrong for all texts.
        UnsupportedPair: nothing translates the text.
    """
    parts = () if request.markup is None else _parse(text, request.markup)
    marked = [MarkedText(text)]
    if request.markup is not None:
        marked = [part.marked for part in parts if isinstance(part, ReadText)]
    source, detected = request.source, None
    if detection.is_wanted(source):
        running = "\n".join(one.words for one in marked)
        found = resolve_source(running, request.target, request.options.model, router.routes)
        source, detected = found.language, found.detected
        if source is None:
            source = found.detected.language
            return PlannedText(TranslationResult(text, source=source, target=found.target, detected=detected))
    route = router.route(source, request.target, request.options.model)
    options = request.options.decoding
    if request.terminology is not None:
        options = replace(options, terminology=request.terminology.select(route.pair))
    context = route_context(router, route, options, request.options.placeholders)
    context = replace(context, pause=pause_of(len(text)))
    plans = [plan_text(one, context) for one in marked]
    of_text = replace(sender, options=options)
    planned = PlannedText(None, route, detected, of_text, markup=request.markup, parts=parts, plans=plans)
    planned.prepare()
    return planned


def _parse(text: str, options: MarkupOptions) -> Sequence[ReadText | InlineItem]:
    try:
        return read_markup(text, options)
    except MarkupError as error:
        raise InputError("text", str(error)) from error


def results_of(plans: Sequence[PlannedText]) -> list[TranslationResult]:
    """Return the results of plans without further calls.

    Raises:
        TextsRejectedError: naming all texts at fault.
    """
    problems = [(item, problem) for item, plan in enumerate(plans) if (problem := plan.problem) is not None]
    if problems:
        raise TextsRejectedError(problems)
    return [plan.result() for plan in plans]
