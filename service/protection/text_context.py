"""What the plan of a text depends on besides the text."""

import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dragoman.types import Span
from service.protection.patterns import ProtectedSpan, SpanForm, find_spans


@dataclass(frozen=True, slots=True)
class TextContext:
    """Languages, kind and model of a text."""

    source: str
    """BCP-47 code of its language."""
    target: str
    """BCP-47 code of the language to translate into."""
    is_message: bool = False
    """Whether it is a text of a user interface: it may have an accelerator, and all checks count."""
    find_unknown: Callable[[str], Sequence[Span]] = lambda _: ()
    """Returns the words of a text that the model cannot read, in order: these are kept like placeholders."""

    def find_spans(self, text: str) -> tuple[ProtectedSpan, ...]:
        """Return the protected spans of a text, in order; they do not overlap."""
        return self.add_unknown(text, find_spans(text))

    def add_unknown(self, text: str, spans: Sequence[ProtectedSpan]) -> tuple[ProtectedSpan, ...]:
        """Return spans of a text with those words that the model cannot read, unless one overlaps a span."""
        unknown = self.find_unknown(text)
        if not unknown:
            return tuple(spans)
        free = [
            ProtectedSpan(*one, SpanForm.NUMBERED, is_syntax=False)
            for one in without_overlaps(unknown, spans)
        ]
        return tuple(sorted((*spans, *free), key=lambda span: span.start))


def without_overlaps(spans: Iterable[Span], others: Sequence[Span | ProtectedSpan]) -> list[Span]:
    """Return the spans that overlap none of the others, which are in order and apart from each other."""
    ends = [other.end for other in others]
    starts = [*(other.start for other in others), sys.maxsize]
    return [span for span in spans if span.end <= starts[bisect_right(ends, span.start)]]
