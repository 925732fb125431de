"""Markup and formatted text as a list of items: all that readers of text know about HTML, XML or a format."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class TokenKind(StrEnum):
    """Role of an item in the text around it."""

    TEXT = "text"
    OPEN = "open"
    """A start tag among words, whose end tag exists."""
    CLOSE = "close"
    """End tag of an OPEN."""
    WORD = "word"
    """Acts like a word in its sentence: an empty element, content that is not translated."""
    POINT = "point"
    """Has no width: a comment, a processing instruction, a tag without its other half."""
    BREAK = "break"
    """Separates the texts before and after it."""


@dataclass(frozen=True, slots=True)
class InlineItem:
    """A text, or an inline element between texts."""

    kind: TokenKind
    """OPEN and CLOSE are properly nested."""
    text: str = ""
    """Content of TEXT. Other kinds may keep the text in their element here."""
    raw: str = ""
    """Source form. Concatenated, those of all items of markup are the markup."""
    note: str | None = None
    """Data of a file format, or `open:KEY` and `close:KEY` for `pair_halves`."""
    ends_line: bool = False
    """Whether a new line begins after it. Lines are translated separately, but elements may be on several. A
    POINT that ends a line is white space."""
    is_blank: bool = False
    """For WORD: whether it holds no text and may stay at the edge of a text, like an image."""
    partner: int | None = None
    """For OPEN and CLOSE in markup: index of the other half in the list."""
    raws: Sequence[str] = ()
    """For TEXT in markup: source form of each character of `text`. Concatenated, they are `raw`, except for
    CDATA sections, whose characters have their form outside of one."""
    keeps_space: bool = False
    """For TEXT: whether its white space is significant."""
    keeps_order: bool = False
    """For POINT: whether it must not swap with another, as cue times."""
    is_section: bool = False
    """For TEXT: whether it is a CDATA section, which is written as a whole or as plain text."""

    def split(self, at: int) -> tuple["InlineItem", "InlineItem"]:
        """Return the two parts of a TEXT that is not a section."""
        first, last = (
            replace(self, text=self.text[part], raws=self.raws[part], raw="".join(self.raws[part]))
            for part in (slice(0, at), slice(at, None))
        )
        return first, last


def join_empty_elements(items: Sequence[InlineItem], kind: TokenKind) -> list[InlineItem]:
    """Join start tags directly followed by their end tags into one item of a kind; drop empty items."""
    joined: list[InlineItem] = []
    positions: list[int] = []
    for i, item in enumerate(items):
        if item.kind is TokenKind.CLOSE and item.partner == i - 1:
            joined[-1] = InlineItem(kind, raw=joined[-1].raw + item.raw)
        elif item.raw:
            joined.append(item)
        positions.append(len(joined) - 1)
    return [
        item if item.partner is None else replace(item, partner=positions[item.partner]) for item in joined
    ]
