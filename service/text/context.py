"""What the plan of a text depends on besides the text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.types import Span, Splitting
from service.text.modes import PlaceholderMode
from service.text.searching import never_pause


class FoundTerm(NamedTuple):
    """A term of a text that has a translation."""

    start: int
    end: int
    put: str | None = None
    """Its translation, if the model cannot spell that, or else None: the engine requires it of the model."""
    alone: str | None = None
    """Its translation where it is a line of its own; None for an inflected term."""


def no_spans(_text: str) -> Sequence[Span]:
    """Return no part of a text."""
    return ()


def no_terms(_text: str) -> Sequence[FoundTerm]:
    """Return no terms."""
    return ()


@dataclass(frozen=True, slots=True)
class TextContext:
    """Languages, kind and model of a text."""

    source: str
    """BCP-47 code of its language."""
    target: str
    """BCP-47 code of the language to translate into."""
    is_message: bool = False
    """Whether it is a text of a user interface: it may have an accelerator, and all checks count."""
    find_unknown: Callable[[str], Sequence[Span]] = no_spans
    """Returns the words of a text that the model cannot read, in order: these are kept like placeholders."""
    find_terms: Callable[[str], Sequence[FoundTerm]] = no_terms
    """Returns the terms of a text that have a translation, in order: these are translated in any case."""
    splitting: Splitting = Splitting.SENTENCES
    """How the request has texts split."""
    placeholders: PlaceholderMode = PlaceholderMode.AUTO
    has_prefix: bool = False
    """Whether the translation has a given beginning, in which there are no stand-ins."""
    pause: Callable[[], None] = never_pause
    """Called now and then while a text is planned and put together; it may sleep, or raise to end that."""

    @property
    def shows_objects(self) -> bool:
        """Whether the model sees stand-ins."""
        return self.placeholders is PlaceholderMode.AUTO and not self.has_prefix
