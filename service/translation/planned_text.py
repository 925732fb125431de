"""One text of a request: its language and route, its calls to the engine, and its result."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from dragoman import EngineRequest, InputError
from dragoman.pipeline.assembly import joint_finish_reason
from dragoman.routing.results import RoutedTranslation
from dragoman.routing.router import Router
from dragoman.routing.routes import Route
from dragoman.types import Alternative, FinishReason, Translation
from service.markup.options import MarkupError, MarkupOptions
from service.markup.parsed_markup import ParsedMarkup, parse
from service.memories.pairs import TextMatches
from service.protection.modes import PlaceholderMode
from service.protection.text_context import TextContext
from service.protection.text_plan import PlanResult, TextPlan, plan_text
from service.protection.unknown_words import UnknownWords
from service.translation.inference import EngineCall, Outcome
from service.translation.request import (
    UNDETERMINED,
    DetectedSource,
    TranslationRequest,
    TranslationResult,
)
from service.translation.source_language import DetectionMode, resolve_source


class TextsRejectedError(Exception):
    """Some texts of a request cannot be translated; the others could be."""

    def __init__(self, problems: Sequence[tuple[int, str]]) -> None:
        super().__init__(f"{len(problems)} texts cannot be translated")
        self.problems = tuple(problems)
        """Position in the request, and what is wrong."""


@dataclass(slots=True, eq=False)
class PlannedText:
    """The plan for one text, and the translations so far."""

    text: str
    target: str
    detected: DetectedSource | None
    """None if the caller named the source language."""
    route: Route | None
    """None if the text is left unchanged."""
    marked: ParsedMarkup | None
    request: EngineRequest
    protection: TextPlan | PlanResult | None = None
    """None if the text has no placeholders or the like."""
    problem: str | None = None
    """Why the text cannot be translated; None if it can."""
    matches: TextMatches | None = None
    """What a translation memory has for the text; None without a memory."""
    known: TranslationResult | None = None
    """Result of a text that a translation memory translates."""
    _calls: list[EngineCall] = field(default_factory=list)
    _parts: list[RoutedTranslation] = field(default_factory=list)

    @property
    def calls(self) -> Sequence[EngineCall]:
        """Calls to make now; none if the text is done."""
        return self._calls

    def prepare(self) -> None:
        """Set the first calls."""
        if self.route is None or isinstance(self.protection, PlanResult):
            return
        if self.protection is not None:
            self._set_calls(self.route, self.protection.texts, is_aligned=self.protection.needs_alignment)
        elif self.marked is not None:
            self._set_calls(self.route, self.marked.blocks, is_aligned=True)
        else:
            self._set_calls(self.route, [self.text], is_aligned=False)

    def take_outcomes(self, outcomes: Iterator[Outcome]) -> None:
        """Take the outcome of each call; damaged placeholders make further calls."""
        if not self._calls:
            return
        found = [next(outcomes) for _ in self._calls]
        self._calls = []
        for outcome in found:
            if isinstance(outcome, InputError):
                self.problem = self.problem or outcome.problem
        if self.problem is not None:
            return
        self._parts = [outcome for outcome in found if not isinstance(outcome, InputError)]
        if self.route is not None and isinstance(self.protection, TextPlan):
            self.protection.take_translations([part.translation for part in self._parts])
            self._set_calls(self.route, self.protection.texts, is_aligned=self.protection.needs_alignment)

    def result(self) -> TranslationResult:
        """Return the result, once there are no more calls."""
        return replace(self._result(), matches=self.matches)

    def _result(self) -> TranslationResult:
        if self.known is not None:
            return self.known
        if self.route is None:
            language = UNDETERMINED if self.detected is None else self.detected.language
            return TranslationResult(self.text, language, self.target, self.detected, None, ())
        source = self.route.pair.source
        if self.protection is not None:
            protection = self.protection
            found = protection if isinstance(protection, PlanResult) else protection.result
            return self._protected_result(found, self.route)
        text, alternatives = "", tuple[str, ...]()
        if self.marked is not None:
            text = self.marked.rejoin([part.translation for part in self._parts])
        else:
            (part,) = self._parts
            text = part.translation.text
            alternatives = tuple(other.text for other in part.translation.alternatives[1:])
        return TranslationResult(
            text, source, self.target, self.detected, self.route, tuple(self._parts), alternatives
        )

    def _protected_result(self, found: PlanResult, route: Route) -> TranslationResult:
        parts: tuple[RoutedTranslation, ...] = ()
        if self.marked is None and self._parts:
            whole = _whole_translation(found)
            parts = (replace(self._parts[-1], translation=whole),)
        alternatives = tuple(other.text for part in parts for other in part.translation.alternatives[1:])
        return TranslationResult(
            found.text,
            route.pair.source,
            self.target,
            self.detected,
            route if parts or self.marked is not None else None,
            parts,
            alternatives,
            found.failures,
        )

    def _set_calls(self, route: Route, texts: Sequence[str], *, is_aligned: bool) -> None:
        request = self.request
        if is_aligned:
            request = replace(request, options=replace(request.options, return_alignment=True))
        self._calls = [EngineCall(route, text, request) for text in texts]


def _whole_translation(found: PlanResult) -> Translation:
    """Return the translation of plain text: its own, or one made of the sentences of an ICU message."""
    if len(found.translations) == 1 and not found.failures and found.translations[0].text == found.text:
        return found.translations[0]
    scores = [translation.score for translation in found.translations if translation.score is not None]
    confidences = [one.confidence for one in found.translations if one.confidence is not None]
    score = sum(scores) / len(scores) if scores else None
    return Translation(
        found.text,
        score,
        FinishReason.COPIED
        if found.failures
        else joint_finish_reason([translation.finish_reason for translation in found.translations]),
        (),
        (Alternative(found.text, score),),
        min(confidences, default=None),
    )


def known_text(
    text: str, matches: TextMatches, request: TranslationRequest, engine_request: EngineRequest
) -> PlannedText | None:
    """Return the plan of a text that a translation memory translates; None if it does not."""
    if matches.target is None:
        return None
    target, source = request.target or UNDETERMINED, request.source or UNDETERMINED
    result = TranslationResult(matches.target, source, target, None, None, ())
    return PlannedText(text, target, None, None, None, engine_request, matches=matches, known=result)


def plan_one(
    text: str,
    request: TranslationRequest,
    engine_request: EngineRequest,
    router: Router,
    detection: DetectionMode,
) -> PlannedText:
    """Return the plan of a text of a request.

    Raises:
        InputError: the text's markup or language cannot be read, or the request is wrong for all texts.
        UnsupportedPair: nothing translates the text.
    """
    marked = None if request.markup is None else _parse(text, request.markup)
    source, detected = request.source, None
    if detection.is_wanted(source):
        running = text if marked is None else "\n".join(marked.blocks)
        found = resolve_source(running, request.target, request.model, router.routes)
        source, detected = found.language, found.detected
        if source is None:
            return PlannedText(text, found.target, detected, None, marked, engine_request)
    route = router.route(source, request.target, request.model)
    if request.terminology is not None:
        options = replace(engine_request.options, terminology=request.terminology.select(route.pair))
        engine_request = replace(engine_request, options=options)
    planned = PlannedText(text, route.pair.target, detected, route, marked, engine_request)
    # A prefix would have placeholders twice: it is forced as it is, and stand-ins are not in it.
    if request.placeholders is PlaceholderMode.AUTO and not request.options.target_prefix:
        unknown_words = UnknownWords(router, route, engine_request.options.terminology)
        context = TextContext(*route.pair, find_unknown=unknown_words.find)
        planned.protection = plan_text(text, marked, context)
    planned.prepare()
    return planned


def _parse(text: str, options: MarkupOptions) -> ParsedMarkup:
    try:
        return parse(text, options)
    except MarkupError as error:
        raise InputError("text", str(error)) from error


def results_of(plans: Sequence[PlannedText]) -> list[TranslationResult]:
    """Return the results of plans without further calls.

    Raises:
        TextsRejectedError: naming all texts at fault.
    """
    problems = [(item, plan.problem) for item, plan in enumerate(plans) if plan.problem is not None]
    if problems:
        raise TextsRejectedError(problems)
    return [plan.result() for plan in plans]
