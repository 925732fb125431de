"""Answers of an engine to the texts of a plan."""

from collections.abc import Callable

from dragoman.types import Alternative, FinishReason, SegmentTranslation, Span, Translation
from service.text.context import TextContext
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome
from tests.text.markup.marked import outcome


def answer(source: str, *targets: str) -> Translation:
    """A translation of one segment without links, and its alternatives."""
    whole = Span(0, len(source)), Span(0, len(targets[0]))
    segment = SegmentTranslation(source, targets[0], -1.0, FinishReason.STOP, 1, 1, *whole)
    alternatives = tuple(Alternative(target, -1.0) for target in targets)
    return Translation(targets[0], -1.0, FinishReason.STOP, (segment,), alternatives)


def translate(text: str, context: TextContext, engine: Callable[[str], Translation]) -> TextOutcome:
    """The outcome of a text that an engine translates."""
    return outcome(MarkedText(text), engine, context)
