"""Markup as a list of tokens: all that blocks need to know of HTML or XML."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class Kind(StrEnum):
    """What a token is to the text around it."""

    TEXT = "text"
    OPEN = "open"
    """A start tag that stands among words, and whose end tag is there."""
    CLOSE = "close"
    """Its end tag."""
    WORD = "word"
    """Stands like a word in its sentence: an empty element, content that is left alone."""
    POINT = "point"
    """Takes no room: a comment, a processing instruction, a tag without its other half."""
    BREAK = "break"
    """Texts before and after it have nothing to do with each other."""


@dataclass(frozen=True, slots=True)
class MarkupToken:
    """Part of the markup; all parts together are the whole of it."""

    kind: Kind
    raw: str
    """As it stands in the markup."""
    partner: int | None = None
    """Of OPEN and CLOSE: position of the other half in the list."""
    text: str = ""
    """Of TEXT: what it says."""
    raws: Sequence[str] = ()
    """Of TEXT: how each character of `text` is written; together they are `raw`, but for CDATA sections,
    whose characters are written here as they would be outside."""
    keeps_space: bool = False
    """Of TEXT: whether its white space means what it is."""
    is_section: bool = False
    """Of TEXT: whether it is a CDATA section, which must be written as a whole or not as one."""
    ends_line: bool = False
    """Whether a new line begins after it. A BREAK that ends a line may stand within elements, whose halves
    are then in different texts; a WORD that does is one that must not part texts."""


def join_empty(tokens: Sequence[MarkupToken]) -> list[MarkupToken]:
    """Start tags followed by their end tags become one word; tokens of nothing go."""
    joined: list[MarkupToken] = []
    places: list[int] = []
    for i, token in enumerate(tokens):
        if token.kind is Kind.CLOSE and token.partner == i - 1:
            joined[-1] = MarkupToken(Kind.WORD, joined[-1].raw + token.raw)
        elif token.raw:
            joined.append(token)
        places.append(len(joined) - 1)
    return [
        token if token.partner is None else replace(token, partner=places[token.partner]) for token in joined
    ]
