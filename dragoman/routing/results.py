"""What comes of a text that went through one bundle or two."""

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
"""Where a text is cut into lines, whatever the language."""


@dataclass(frozen=True, slots=True)
class StepTaken:
    """One bundle's part in a translation."""

    model: str
    """The bundle's name."""
    pair: Pair
    score: float | None


@dataclass(frozen=True, slots=True)
class RoutedTranslation:
    """A translation, and how it was made."""

    translation: Translation
    """Of a pivot: the last step's, with scores that are the sum of both steps' (log-probabilities of one
    thing after another add up; each is normalised by its own length) and the finish reason of both: `length`
    if a limit cut either of them. Its segments are the caller's own, with words linked across the pivot; of
    tokens there are the last step's."""
    pair: Pair
    steps: tuple[StepTaken, ...]
    """One, or two for a pivot."""


def combine(route: Route, text: str, translations: Sequence[Translation]) -> RoutedTranslation:
    """Put the steps' translations of a text together, one for each step of the route."""
    if len(translations) == 1:
        return alone(route, translations[0])
    first, last = translations
    added = first.score or 0.0
    alternatives = tuple(
        Alternative(other.text, None if other.score is None else other.score + added)
        for other in last.alternatives
    )
    whole = replace(
        last,
        score=None if last.score is None else last.score + added,
        finish_reason=joint_finish_reason([translation.finish_reason for translation in translations]),
        segments=join_alignments(text, first, last),
        alternatives=alternatives,
        confidence=_confidence(translations),
    )
    return RoutedTranslation(whole, route.pair, _steps(route, translations))


def alone(route: Route, translation: Translation) -> RoutedTranslation:
    """The translation of a route's only step."""
    return RoutedTranslation(translation, route.pair, _steps(route, [translation]))


def _steps(route: Route, translations: Sequence[Translation]) -> tuple[StepTaken, ...]:
    return tuple(
        StepTaken(step.offer.name, step.pair, translation.score)
        for step, translation in zip(route.steps, translations, strict=True)
    )


def options_before_last(options: DecodingOptions) -> DecodingOptions:
    """Wishes for a step whose translation goes on: how long, how many, how it begins is for the last one."""
    return replace(
        options,
        num_hypotheses=1,
        max_length=None,
        min_length=0,
        sampling=None,
        target_prefix="",
        return_tokens=False,
    )


def text_to_go_on(translation: Translation) -> str:
    """A translation as the next step's source: a line break that the model made itself becomes a space, so
    that lines stay where they were.
    """
    parts, done = list[str](), 0
    for segment in translation.segments:
        start, end = segment.span
        parts += [translation.text[done:start], LINE_BREAKS.sub(" ", segment.text)]
        done = end
    return "".join((*parts, translation.text[done:]))


def _confidence(translations: Sequence[Translation]) -> float | None:
    """The chance that both steps are right, if their faults have nothing to do with each other."""
    confidences = [translation.confidence for translation in translations]
    return math.prod(one for one in confidences if one is not None) if None not in confidences else None
