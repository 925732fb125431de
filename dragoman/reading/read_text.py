"""Text that a model reads in place of a segment, with its offsets in the segment."""

import re
from collections.abc import Collection, Iterable
from typing import NamedTuple

from dragoman.reading.grammar import Found
from dragoman.text.capitals import to_capitals
from dragoman.types import Span

QUOTE_SPACE_BONUS = 0.1
"""See `RewordedText.bonus`; docs/explanation/decisions/text.md has the measurements."""
_QUOTES = '"\u2018\u201a\u201c\u201e'
_QUOTE_SPACE = re.compile(rf"(?:(?<=[\s(\[{_QUOTES}'-])|^)[{_QUOTES}'] (?=\w)")
"""A space after an opening quotation mark; French has one after a guillemet."""


class RewordedText(NamedTuple):
    """The text that the model reads for a segment."""

    text: str
    """Differs from the segment in the case of letters, has ß for some ss, and quote spaces."""
    words: tuple[Span, ...] | None
    """The segment's words whose translations get capitals; None if the whole translation does."""
    offsets: tuple[int, ...] | None = None
    """Offset in the segment of each offset in `text`; None if they are the same."""
    has_quote_spaces: bool = False
    """Whether spaces follow opening quotation marks that the segment does not have there."""

    @property
    def is_in_capitals(self) -> bool:
        """Whether the whole segment is in capitals."""
        return self.words is None

    @property
    def bonus(self) -> float:
        """Added to the mean log-probability of its translation, which is compared with the segment's.

        A word in capitals may be a name; a space changes no word.
        """
        return QUOTE_SPACE_BONUS if self.has_quote_spaces and not self.words else 0.0

    def without(self, spans: Collection[Span]) -> "RewordedText":
        """Return the same without the words that overlap any of the spans."""
        if self.words is None:
            return self
        words = tuple(word for word in self.words if not any(map(word.overlaps, spans)))
        return self._replace(words=words)

    def of_read(self, first: "RewordedText") -> "RewordedText":
        """Return the same for the segment of `first`, of whose text this one is made."""
        words = None if self.words is None else tuple(map(first.in_segment, self.words))
        offsets = self.offsets or range(len(self.text) + 1)
        moved = tuple([first.in_segment(Span(at, at)).start for at in offsets])
        return self._replace(words=words, offsets=moved)

    def in_segment(self, span: Span) -> Span:
        """Return the span in the segment of a span in `text`; for a part of a time, that of all of it."""
        if self.offsets is None:
            return span
        start, end = self.offsets[span.start], self.offsets[span.end]
        if start == end and not self.text[span.start : span.end].isspace():
            end = next((offset for offset in self.offsets[span.end :] if offset > start), end)
        return Span(start, end)

    def finish_beginning(self, target: str, language: str) -> str:
        """Return the beginning of a target without quote spaces, and in capitals if all of the segment is."""
        closed = without_quote_spaces(target) if self.has_quote_spaces else target
        return to_capitals(closed, language) if self.is_in_capitals else closed


def render(segment: str, found: Iterable[Found]) -> RewordedText | None:
    """Return a segment with other words in some parts, the first of those that overlap; None if it stays."""
    pieces: list[str] = []
    offsets: list[int] = []
    end = 0
    for span, read in sorted(found):
        if span.start < end:
            continue
        pieces += (segment[end : span.start], read)
        offsets += (*range(end, span.start), *[span.start] * len(read))
        end = span.end
    if not pieces:
        return None
    return RewordedText("".join((*pieces, segment[end:])), (), (*offsets, *range(end, len(segment) + 1)))


def find_quote_spaces(target: str) -> list[int]:
    """Return the offsets of the spaces in a target that quote spaces in its segment have led to.

    They are inside quotation marks: after an opening one, and before a closing one (`" Perhaps " is`).
    """
    spaces = [space.end() - 1 for space in _QUOTE_SPACE.finditer(target)]
    return [space - 2 if _follows_closing_quote(target, space) else space for space in spaces]


def without_quote_spaces(target: str) -> str:
    """Return a target without the spaces that `find_quote_spaces` finds."""
    spaces = sorted(set(find_quote_spaces(target)))
    pieces = zip((0, *(space + 1 for space in spaces)), (*spaces, len(target)), strict=True)
    return "".join([target[start:end] for start, end in pieces])


def _follows_closing_quote(target: str, space: int) -> bool:
    """Return whether a straight quotation mark before a space has a partner before it, and another space."""
    return target[space - 2 : space] == ' "' and target.count('"', 0, space - 1) % 2 == 1
