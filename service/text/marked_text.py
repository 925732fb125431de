"""The value that readers, plans, files and journals share: words, with marks between and objects among them.

Source forms stay with the reader (`reading.ReadText`): a translation names them by number.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Self

OBJECT = "\ufffc"
"""The character of an object of markup: OBJECT REPLACEMENT CHARACTER."""


class MarkKind(Enum):
    """Role of a mark."""

    OPEN = "open"
    CLOSE = "close"
    POINT = "point"
    """Has no width and no other half: a comment, an anchor, a footnote reference, a cue time."""


class Shown(Enum):
    """Form in which the model sees an object."""

    COPY = "copy"
    """As `%1$s`, with a number of its own: it may move in the sentence."""
    TAG = "tag"
    """Like COPY, but it is part of no word, so that no blank is added beside it."""
    STRING = "string"
    """As `%s`: such objects keep their order, as their values are passed by position."""
    NUMBER = "number"
    """As `%d`; else like STRING."""
    LITERAL = "literal"
    """As it is."""
    BREAK = "break"
    """As a line break, across which nothing moves."""
    OPEN = "open"
    """Not at all: the first half of a pair around words, which word alignment places."""
    CLOSE = "close"
    LINE = "line"
    """As a blank: a line break within a text, which word alignment places."""
    NOTE = "note"
    """Not at all: a sign at the end of a word, which goes after the translation of that."""
    KEY = "key"
    """Not at all: the sign of an accelerator, which goes before a letter of the translation."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Something of the reader's between two characters."""

    at: int
    """Position of the character after it."""
    kind: MarkKind
    number: int
    """Number of the reader's source form."""
    partner: int | None = None
    """For OPEN and CLOSE: index of the other half among the text's marks; None if that is in another text."""
    keeps_order: bool = False
    """Whether it must not swap with other marks, as cue times."""


@dataclass(frozen=True, slots=True)
class Object:
    """Part of a text that is not translated."""

    start: int
    end: int
    shown: Shown = Shown.COPY
    number: int | None = None
    """Number of the reader's source form; None if it is its own characters, found among the words."""
    partner: int | None = None
    """For OPEN and CLOSE: index of the other half among the text's objects."""
    put: str | None = None
    """Text that the translation has instead; None for its own characters."""
    is_syntax: bool = True
    """Whether a program reads it, so that a translation must not have more of it than the text."""


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A text, its marks and its objects. Texts are equal if words and positions are, not the source forms.

    Marks are in order of their positions, and at one position in that of the source; OPEN and CLOSE nest.
    Objects are in order and do not overlap, and no mark is within one. An object of markup is one character,
    `OBJECT`, and a line break of markup is a line feed, or has no width.
    """

    text: str
    marks: tuple[Mark, ...] = ()
    objects: tuple[Object, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Return whether it has neither marks nor objects."""
        return not self.marks and not self.objects

    @property
    def words(self) -> str:
        """The text without its objects: what its language is detected from."""
        if not self.objects:
            return self.text
        spans = ((each.start, each.end, "\n" if each.shown is Shown.BREAK else " ") for each in self.objects)
        return fill(self.text, spans)

    def objects_in(self, start: int, end: int) -> range:
        """Return the indexes of the objects that are within a part of the text."""
        first = bisect_left(self.objects, start, key=lambda each: each.start)
        return range(first, bisect_right(self.objects, end, first, key=lambda each: each.end))

    def to_json(self) -> Any:
        """Return the text as JSON can hold it; a plain one is itself."""
        if self.is_plain:
            return self.text
        marks = [
            [mark.at, mark.kind.value, mark.number, mark.partner, mark.keeps_order] for mark in self.marks
        ]
        objects = [
            [each.start, each.end, each.shown.value, each.number, each.partner, each.put, each.is_syntax]
            for each in self.objects
        ]
        return [self.text, marks, objects]

    @classmethod
    def from_json(cls, packed: Any) -> Self:
        """Return the text that `to_json` packed."""
        if isinstance(packed, str):
            return cls(packed)
        text, marks, objects = packed
        return cls(
            text,
            tuple(Mark(at, MarkKind(kind), *rest) for at, kind, *rest in marks),
            tuple(Object(start, end, Shown(shown), *rest) for start, end, shown, *rest in objects),
        )


def fill(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """Return a text with other strings in place of spans, which are in order."""
    pieces: list[str] = []
    at = 0
    for start, end, filler in spans:
        pieces += (text[at:start], filler)
        at = end
    return "".join((*pieces, text[at:]))


def with_partners(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Return marks with the halves that nest as partners of each other; other halves have none."""
    partners = pair_nesting((mark.kind.value, None) for mark in marks)
    return tuple(replace(mark, partner=partners.get(i)) for i, mark in enumerate(marks))


def pair_nesting(halves: Iterable[tuple[str, Hashable]]) -> dict[int, int]:
    """Return the index of the other half of each half that has one; pairs nest.

    Args:
        halves: kind and key of each. Kinds but `open` and `close` are of no half, and a `close` is the other
            half of the last `open` with its key; halves between that have none would cross the pair.
    """
    partners: dict[int, int] = {}
    opened: list[tuple[Hashable, int]] = []
    num_open = Counter[Hashable]()
    for i, (kind, key) in enumerate(halves):
        if kind == MarkKind.OPEN.value:
            opened.append((key, i))
            num_open[key] += 1
        elif kind == MarkKind.CLOSE.value and num_open[key]:
            while i not in partners:
                other, start = opened.pop()
                num_open[other] -= 1
                if other == key:
                    partners[start], partners[i] = i, start
    return partners
