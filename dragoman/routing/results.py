"""Results of texts translated through one bundle or two."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.decoding.options import DecodingOptions
from dragoman.pipeline.assembly import joint_finish_reason
from dragoman.routing.alignment_join import join_alignments
from dragoman.routing.routes import Route
from dragoman.types import Alternative, Pair, Translation

LINE_BREAKS = re.compile("[\t\n\r\x0b\x0c\x85\u2028\u2029]")
"""Characters that end a line, in any language."""


@dataclass(frozen=True, slots=True)
class RouteStepResult:
    """One bundle's part in a translation."""

    model: str
    """The bundle's name."""
    pair: Pair
    score: float | None


@dataclass(frozen=True, slots=True)
class RoutedTranslation:
    """A translation, and the steps that made it."""

    translation: Translation
    """For a pivot: the last step's, with the sum of both steps' scores (log-probabilities of consecutive
    steps add up; each is normalised by its own length) and a common finish reason: `length` if a limit cut
    either step. Segments are the caller's own, with words linked across the pivot; tokens are the last
    step's."""
    pair: Pair
    steps: tuple[RouteStepResult, ...]
    """One step, or two for a pivot."""


def combine(route: Route, text: str, translations: Sequence[Translation]) -> RoutedTranslation:
    """Combine a text's translations, one for each step of the route."""
    if len(translations) == 1:
        return single_step_result(route, translations[0])
    first, last = translations
    added = first.score or 0.0
    alternatives = tuple(
        Alternative(other.text, None if other.score is None else other.score + added)
        for other in last.alternatives
    )
    whole = last._replace(
        score=None if last.score is None else last.score + added,
        finish_reason=joint_finish_reason([translation.finish_reason for translation in translations]),
        segments=join_alignments(text, first, last),
        alternatives=alternatives,
        confidence=_confidence(translations),
    )
    return RoutedTranslation(whole, route.pair, _steps(route, translations))


def single_step_result(route: Route, translation: Translation) -> RoutedTranslation:
    """Return the result of a route with a single step."""
    return RoutedTranslation(translation, route.pair, _steps(route, [translation]))


def _steps(route: Route, translations: Sequence[Translation]) -> tuple[RouteStepResult, ...]:
    return tuple(
        RouteStepResult(step.offer.name, step.pair, translation.score)
        for step, translation in zip(route.steps, translations, strict=True)
    )


def first_step_options(options: DecodingOptions) -> DecodingOptions:
    """Return options for a first step; length, prefix, formality and number of results are for the last."""
    return replace(
        options,
        num_hypotheses=1,
        max_length=None,
        min_length=0,
        sampling=None,
        target_prefix="",
        formality=None,
        return_tokens=False,
    )


def source_of_next_step(translation: Translation) -> str:
    """Return a translation as the next step's source: line breaks that the model produced become spaces, so
    that the text keeps its lines.
    """
    parts, done = list[str](), 0
    for segment in translation.segments:
        start, end = segment.span
        parts += [translation.text[done:start], LINE_BREAKS.sub(" ", segment.text)]
        done = end
    return "".join((*parts, translation.text[done:]))


def _confidence(translations: Sequence[Translation]) -> float | None:
    """Return the probability that both steps are right, if their errors are independent."""
    confidences = [translation.confidence for translation in translations]
    return math.prod(one for one in confidences if one is not None) if None not in confidences else None
