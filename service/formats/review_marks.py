"""What a file says about its translations: who made them, and that somebody has to review them.

`FileFormat.write` takes texts; one that is a `TargetText` is marked, in formats that can hold marks.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Self

from service.text.marked_text import MarkedText

TOOL = "dragoman"
"""How a file names the author of a translation."""


class ReviewMarks(StrEnum):
    """Which marks are written next to translations."""

    MARK = "mark"
    """State, and who made the translation."""
    CONFIDENCE = "confidence"
    """The same, and the confidence of each translation."""
    OFF = "off"


class TextOrigin(StrEnum):
    """Who made a text."""

    MACHINE = "machine"
    """A model."""
    MEMORY = "memory"
    """A translation memory, with an exact match."""
    SOURCE = "source"
    """Nobody: it is the text of the entry, which could not be translated."""


class TargetText(str):
    """A text for an entry, with its origin, marks and objects. Formats without these use it as any text."""

    __slots__ = ("confidence", "marked", "origin")
    marked: MarkedText
    origin: TextOrigin | None
    """None if no review marks are written."""
    confidence: float | None
    """Confidence of the model, 0 to 1; None if it is unknown or not to be written."""

    def __new__(
        cls, marked: MarkedText, origin: TextOrigin | None = None, confidence: float | None = None
    ) -> Self:
        text = super().__new__(cls, marked.text)
        text.marked = marked
        text.origin = origin
        text.confidence = confidence
        return text


def marked_of(text: str) -> MarkedText:
    """Return a text for an entry with its marks and objects."""
    return text.marked if isinstance(text, TargetText) else MarkedText(text)


def origin_of(texts: Sequence[str]) -> TextOrigin | None:
    """Return the origin of texts that share a mark: the one that needs most review; None for no mark."""
    origins = {text.origin for text in texts if isinstance(text, TargetText)}
    return next((origin for origin in _MOST_REVIEW_FIRST if origin in origins), None)


def confidence_of(texts: Sequence[str]) -> str | None:
    """Return the lowest confidence of texts, as files write it; None if there is none."""
    known = [text.confidence for text in texts if isinstance(text, TargetText)]
    lowest = min((confidence for confidence in known if confidence is not None), default=None)
    return None if lowest is None else f"{lowest:.2f}"


_MOST_REVIEW_FIRST = (TextOrigin.SOURCE, TextOrigin.MACHINE, TextOrigin.MEMORY)


def pack_text(text: str) -> object:
    """Return a text as JSON can hold it."""
    return [text.marked.to_json(), text.origin, text.confidence] if isinstance(text, TargetText) else text


def unpack_text(packed: Any) -> str:
    """Return the text that `pack_text` encoded."""
    if isinstance(packed, str):
        return packed
    marked, origin, confidence = packed
    return TargetText(MarkedText.from_json(marked), origin and TextOrigin(origin), confidence)
