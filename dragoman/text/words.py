"""Words made of token pieces: the unit of alignments."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.scripts import is_word_character
from dragoman.types import Span


@dataclass(frozen=True, slots=True)
class Word:
    """A word, a punctuation mark, or a piece of a script that does not separate words."""

    span: Span
    pieces: tuple[int, ...]
    """Indices of the word's pieces; never empty."""


def group_into_words(text: str, pieces: Sequence[Span]) -> list[Word]:
    """Group adjacent pieces into words.

    Args:
        text: the whole text.
        pieces: ascending spans without white space around them; an empty one joins the next word.
    """
    spans: list[Span] = []
    members: list[list[int]] = []  # of each span; lists, as a word may have any number
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
    return (
        piece.start == before.end
        and is_word_character(text[before.end - 1])
        and is_word_character(text[piece.start])
    )
