"""Marks of a file's translations: who made them, and that somebody has to review them."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from service.formats.entries import TargetText
from service.text.marked_text import MarkedText
from service.text.outcome import TextOrigin

TOOL = "dragoman"
"""Name of the author of a translation in files."""


class ReviewMarks(StrEnum):
    """Kinds of marks that are written next to translations."""

    MARK = "mark"
    """State, and who made the translation."""
    CONFIDENCE = "confidence"
    """The same, and the confidence of each translation."""
    OFF = "off"


def origin_of(texts: Sequence[TargetText]) -> TextOrigin | None:
    """Return the origin of texts that share a mark: the one that needs most review; None for no mark."""
    origins = {text.origin for text in texts}
    return next((origin for origin in _MOST_REVIEW_FIRST if origin in origins), None)


def confidence_of(texts: Sequence[TargetText]) -> str | None:
    """Return the lowest confidence of texts, as files write it; None if there is none."""
    lowest = min((text.confidence for text in texts if text.confidence is not None), default=None)
    return None if lowest is None else f"{lowest:.2f}"


_MOST_REVIEW_FIRST = (TextOrigin.SOURCE, TextOrigin.MACHINE, TextOrigin.MEMORY)


def pack_text(text: TargetText) -> object:
    """Return a text as JSON can hold it."""
    return text.marked.to_json(), text.origin, text.confidence


def unpack_text(packed: Any) -> TargetText:
    """Return the text that `pack_text` encoded."""
    marked, origin, confidence = packed
    return TargetText(MarkedText.from_json(marked), origin and TextOrigin(origin), confidence)
