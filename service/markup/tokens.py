"""Markup as a list of tokens: all that blocks need to know about HTML or XML."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum


class TokenKind(StrEnum):
    """Role of a token in the text around it."""

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
class MarkupToken:
    """Part of the markup; concatenated, all parts are the markup."""

    kind: TokenKind
    raw: str
    """Source form in the markup."""
    partner: int | None = None
    """For OPEN and CLOSE: index of the other half in the list."""
    text: str = ""
    """For TEXT: its content."""
    raws: Sequence[str] = ()
    """For TEXT: source form of each character of `text`. Concatenated, they are `raw`, except for CDATA
    sections, whose characters have their form outside of one."""
    keeps_space: bool = False
    """For TEXT: whether its white space is significant."""
    is_section: bool = False
    """For TEXT: whether it is a CDATA section, which is written as a whole or as plain text."""
    ends_line: bool = False
    """Whether a new line begins after it. A BREAK that ends a line may be inside elements, whose halves are
    then in different texts; a WORD that ends a line must not separate texts."""


def join_empty_elements(tokens: Sequence[MarkupToken]) -> list[MarkupToken]:
    """Join start tags directly followed by their end tags into one WORD; drop empty tokens."""
    joined: list[MarkupToken] = []
    positions: list[int] = []
    for i, token in enumerate(tokens):
        if token.kind is TokenKind.CLOSE and token.partner == i - 1:
            joined[-1] = MarkupToken(TokenKind.WORD, joined[-1].raw + token.raw)
        elif token.raw:
            joined.append(token)
        positions.append(len(joined) - 1)
    return [
        token if token.partner is None else replace(token, partner=positions[token.partner])
        for token in joined
    ]
