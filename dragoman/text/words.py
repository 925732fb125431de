"""Pieces of text put together to words: what alignment is told in."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.types import Span

SCRIPTS_WITHOUT_SPACES = ("CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
"""How Unicode's names of their characters begin: in these a run of letters is no word but a sentence."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word, a punctuation mark, or a piece in a script that does not part words."""

    span: Span
    pieces: tuple[int, ...]
    """Positions of the pieces that it is made of; never none."""


def words_of(text: str, pieces: Sequence[Span]) -> list[Word]:
    """Put pieces together where nothing parts them.

    Args:
        text: all of it.
        pieces: ascending, without white space around them; an empty one belongs to what it stands in.
    """
    spans: list[Span] = []
    members: list[list[int]] = []  # of each span; copied once, as a word may have any number
    waiting: list[int] = []  # parts of a character that a later piece completes
    for index, piece in enumerate(pieces):
        if piece.start == piece.end:
            waiting.append(index)
            continue
        if spans and _is_one_word(text, spans[-1], piece):
            spans[-1] = Span(spans[-1].start, max(spans[-1].end, piece.end))
            members[-1] += (*waiting, index)
        else:
            spans.append(piece)
            members.append([*waiting, index])
        waiting = []
    if members:
        members[-1] += waiting
    return [Word(span, tuple(found)) for span, found in zip(spans, members, strict=True)]


def _is_one_word(text: str, before: Span, piece: Span) -> bool:
    if piece.start < before.end:
        return True
    return piece.start == before.end and _joins(text[before.end - 1]) and _joins(text[piece.start])


def _joins(character: str) -> bool:
    """Whether a character is part of a word together with the next one of its kind."""
    if unicodedata.category(character)[0] not in "LMN":
        return False
    return character.isascii() or not unicodedata.name(character, "").startswith(SCRIPTS_WITHOUT_SPACES)
