"""Markup and formatted text as a list of items: all that readers of text know about HTML, XML or a format."""

import re
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


_NOTE_TAG = re.compile(r"</?(?:a|b|i|span|su[bp])\b", re.IGNORECASE)
_MAX_OF_NOTE = 8
"""Tags and texts of a reference to a note, at most."""
_NOTE = re.compile(r"\s*[\[(]?(?:\d{1,3}(?:[,;\u2013-]\s?\d{1,3}){0,5}|[^\W\d_]|[*†‡§®©™]{1,3})[\])]?\s*")
_NO_UNIT = re.compile(r"\d\s*[,;\u2013-]\s*\d|[*†‡§®©™\[(]|<a\b", re.IGNORECASE)
"""Signs that no raised part of a unit, a power or a word has: a list, a sign, a bracket, a link."""
_NOTED = re.compile(r"(?:[^\W\d_]{3}|\w[.,:;!?)\"“”»«])\Z")


def join_notes(items: Sequence[InlineItem]) -> list[InlineItem]:
    """Join each raised reference to a note, after a word or a sentence, into one item of no width."""
    joined: list[InlineItem] = []
    positions: list[int] = []
    end, before = 0, ""
    for i, item in enumerate(items):
        if i >= end:
            found = item
            if item.partner is not None and _is_note(
                items[i : min(item.partner + 1, i + _MAX_OF_NOTE)], before
            ):
                end = item.partner + 1
                found = InlineItem(TokenKind.POINT, raw="".join(one.raw for one in items[i:end]))
            elif item.kind in {TokenKind.TEXT, TokenKind.BREAK}:
                before = item.text
            joined.append(found)
        positions.append(len(joined) - 1)
    return _with_positions(joined, positions)


def _is_note(items: Sequence[InlineItem], before: str) -> bool:
    tags = [item.raw for item in items if item.kind is not TokenKind.TEXT]
    text = "".join(item.text for item in items if item.kind is TokenKind.TEXT)
    is_raised = any(tag[1:4].lower() in {"sub", "sup"} for tag in tags) and all(map(_NOTE_TAG.match, tags))
    return is_raised and refers_to_note(text, before, "".join(tags))


def refers_to_note(raised: str, before: str, tags: str = "") -> bool:
    """Return whether raised text refers to a note, after a word or a sentence."""
    is_after_word = _NOTED.search(before) or (_NO_UNIT.search(tags + raised) and before[-1:].isalnum())
    return _NOTE.fullmatch(raised) is not None and bool(is_after_word)


def _with_positions(items: Sequence[InlineItem], positions: Sequence[int]) -> list[InlineItem]:
    """Return items whose partners are at other positions than before."""
    return [
        item if item.partner is None else replace(item, partner=positions[item.partner]) for item in items
    ]


_NOTHING = InlineItem(TokenKind.TEXT)


def join_empty_elements(items: Sequence[InlineItem], kind: TokenKind) -> list[InlineItem]:
    """Join start tags directly followed by their end tags into one item of a kind; drop empty items.

    An element with nothing but an image in it is like the image.
    """
    joined: list[InlineItem] = []
    positions: list[int] = []
    for item in items:
        last = joined[-1] if joined and item.kind is TokenKind.CLOSE else _NOTHING
        if last.kind is TokenKind.OPEN:
            joined[-1] = InlineItem(kind, raw=last.raw + item.raw)
        elif last.is_blank and joined[-2:][0].kind is TokenKind.OPEN:
            joined[-2:] = [replace(last, raw=joined[-2].raw + last.raw + item.raw)]
        elif item.raw or item.text:
            joined.append(item)
        positions.append(len(joined) - 1)
    return _with_positions(joined, positions)
