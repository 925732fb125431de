"""What a file says about its translations: who made them, and that somebody has to review them.

`FileFormat.write` takes texts; one that is a `TargetText` is marked, in formats that can hold marks.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Self

from service.text.marked_text import MarkedText
from service.text.outcome import TextOrigin, TextOutcome

TOOL = "dragoman"
"""How a file names the author of a translation."""


class ReviewMarks(StrEnum):
    """Which marks are written next to translations."""

    MARK = "mark"
    """State, and who made the translation."""
    CONFIDENCE = "confidence"
    """The same, and the confidence of each translation."""
    OFF = "off"


class TargetText(str):
    """The outcome of an entry as a text, which is all that most formats use of it."""

    __slots__ = ("has_marks", "outcome")
    outcome: TextOutcome
    """Its confidence is None if that is not to be written."""
    has_marks: bool
    """Whether review marks are written."""

    def __new__(cls, outcome: TextOutcome, *, has_marks: bool = True) -> Self:
        text = super().__new__(cls, outcome.marked.text)
        text.outcome, text.has_marks = outcome, has_marks
        return text


def marked_of(text: str) -> MarkedText:
    """Return a text for an entry with its marks and objects."""
    return text.outcome.marked if isinstance(text, TargetText) else MarkedText(text)


def origin_of(texts: Sequence[str]) -> TextOrigin | None:
    """Return the origin of texts that share a mark: the one that needs most review; None for no mark."""
    origins = {text.outcome.origin for text in texts if isinstance(text, TargetText) and text.has_marks}
    return next((origin for origin in _MOST_REVIEW_FIRST if origin in origins), None)


def confidence_of(texts: Sequence[str]) -> str | None:
    """Return the lowest confidence of texts, as files write it; None if there is none."""
    known = [text.outcome.confidence for text in texts if isinstance(text, TargetText)]
    lowest = min((confidence for confidence in known if confidence is not None), default=None)
    return None if lowest is None else f"{lowest:.2f}"


_MOST_REVIEW_FIRST = (TextOrigin.SOURCE, TextOrigin.MACHINE, TextOrigin.MEMORY)


def pack_text(text: str) -> object:
    """Return a text as JSON can hold it."""
    if not isinstance(text, TargetText):
        return text
    outcome = text.outcome
    return [outcome.marked.to_json(), outcome.origin, outcome.confidence, text.has_marks]


def unpack_text(packed: Any) -> str:
    """Return the text that `pack_text` encoded."""
    if isinstance(packed, str):
        return packed
    marked, origin, confidence, has_marks = packed
    outcome = TextOutcome(MarkedText.from_json(marked), origin=TextOrigin(origin), confidence=confidence)
    return TargetText(outcome, has_marks=has_marks)
