"""What comes of a text that went through one bundle or two."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from dragoman.decoding.options import DecodingOptions
from dragoman.routing.routes import Route
from dragoman.types import Alternative, FinishReason, Pair, Translation

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
    if a limit cut either of them. Its segments are the last step's, and so have their source in the pivot."""
    pair: Pair
    steps: tuple[StepTaken, ...]
    """One, or two for a pivot."""


def combine(route: Route, translations: Sequence[Translation]) -> RoutedTranslation:
    """Put the steps' translations together, one for each step of the route."""
    steps = tuple(
        StepTaken(step.offer.name, step.pair, translation.score)
        for step, translation in zip(route.steps, translations, strict=True)
    )
    *before, last = translations
    if not before:
        return RoutedTranslation(last, route.pair, steps)
    added = sum(translation.score or 0.0 for translation in before)
    alternatives = tuple(
        Alternative(other.text, None if other.score is None else other.score + added)
        for other in last.alternatives
    )
    score = None if last.score is None else last.score + added
    reason = _finish_reason([translation.finish_reason for translation in translations])
    whole = replace(
        last,
        score=score,
        finish_reason=reason,
        alternatives=alternatives,
        confidence=_confidence(translations),
    )
    return RoutedTranslation(whole, route.pair, steps)


def options_before_last(options: DecodingOptions) -> DecodingOptions:
    """Wishes for a step whose translation goes on: how long and how many is for the last step to know."""
    return replace(options, num_hypotheses=1, max_length=None, min_length=0)


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


def _finish_reason(reasons: Sequence[FinishReason]) -> FinishReason:
    if FinishReason.LENGTH in reasons:
        return FinishReason.LENGTH
    return FinishReason.COPIED if set(reasons) == {FinishReason.COPIED} else FinishReason.STOP
