"""What became of a text."""

from dataclasses import dataclass

from dragoman.types import Translation
from service.text.checks import CheckFailure
from service.text.marked_text import MarkedText


@dataclass(frozen=True, slots=True)
class TextOutcome:
    """A text in the target language."""

    marked: MarkedText
    """The translation; the source if `is_source`."""
    translation: Translation | None = None
    """The same with scores and segments, whose positions are those of the source's and the translation's own
    characters; None without a translation."""
    failed: tuple[CheckFailure, ...] = ()
    """Checks that the translation failed after all tries."""
    is_source: bool = False
    """Whether the translation was not used, because what failed would break a program or a page."""
