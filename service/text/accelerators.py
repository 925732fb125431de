"""Accelerator keys in labels of menus and buttons: `&` of Qt and Windows, `_` of GTK."""

import re
from collections.abc import Iterator
from unicodedata import category

from dragoman.types import Span
from service.text.marked_text import Object, Shown
from service.text.patterns import find_spans

MAX_LABEL_CHARACTERS = 100
LONG_LABEL = 4
"""Words of a label at most. Longer texts may name variables; there, alignment says where the sign goes."""
_COMPOUND = 4
"""Letters of each half of `Drag&drop`, at least; a key inside of a word is nearer to one of its ends."""

_SIGN = re.compile(
    r"""
    \s?\((?P<sign>[&_])\w\)(?=\W*$)
    | (?<![\w=?&/])(?P<first>[&_])(?!(?:nbsp|amp|lt|gt|quot|apos|copy|reg|shy)\b)(?=[^\W_][^\W_]*(?![=;]))
    | (?<![\w=?&/#.-])(?P<before>[^\W\d_]+)(?P<within>[&_])(?P<after>[a-z\xdf-\xff][^\W\d_]*)(?![\w=&])
    """,
    re.VERBOSE,
)
"""`(&O)`, as Chinese and Japanese labels have it, `&Open`, `Sp&eichern`; not `R&D`, `a & b`, `?x=1&y=2`."""
_LINE = re.compile(r"[^\n]+")


def find_accelerators(text: str, *, is_message: bool) -> Iterator[Object]:
    """Yield the accelerator of each line that has exactly one.

    Args:
        text: any text.
        is_message: whether it is of a user interface; others have none with `_`, which they use otherwise.
    """
    if "&" not in text and not (is_message and "_" in text):
        return
    for line in _LINE.finditer(text):
        if len(line[0]) > MAX_LABEL_CHARACTERS:
            continue
        signs = (_span(found, is_message=is_message) for found in _SIGN.finditer(line[0]))
        found = [span for span in signs if span is not None and (is_message or "&" in line[0][slice(*span)])]
        if len(found) == 1:
            [(start, end)] = found
            yield Object(line.start() + start, line.start() + end, Shown.KEY)


def _span(found: re.Match[str], *, is_message: bool) -> tuple[int, int] | None:
    """Return the position of an accelerator in its line; None if the sign is of a word."""
    if found["sign"] is not None:
        return found.span()
    if found["first"] is not None:
        return found.span("first")
    line, (before, after) = found.string, (len(found["before"]), len(found["after"]))
    if len(line.split()) > LONG_LABEL or not line[:1].isupper():
        return None
    is_compound = max(before, after) == 1 or (min(before, after) >= _COMPOUND and not is_message)
    return None if is_compound else found.span("within")


def written_accelerator(text: str, found: Object) -> tuple[str, str]:
    """Return the sign of an accelerator, and the letter or digit that is its key."""
    written = text[found.start : found.end].strip(" ()")
    return written[0], written[1:] or text[found.end]


def key_position(text: str, key: str, word: Span | None) -> int | None:
    """Return where the sign goes: before the key, if possible as the first letter of a word, or the first
    letter.

    Args:
        text: a translation.
        key: letter of the source's accelerator.
        word: the translation of the word with the accelerator, which is preferred; None if unknown.
    """
    excluded = find_spans(text)
    best: tuple[bool, int, int] | None = None
    for at, character in enumerate(text):
        if not character.isalnum() or any(span.start <= at < span.end for span in excluded):
            continue
        if category(character) == "Lo":  # no keyboard has a key for it
            continue
        begins_word = at == 0 or not text[at - 1].isalnum()
        rank = (0 if begins_word else 1) if character.lower() == key.lower() else 2
        is_apart = word is not None and not word.start <= at < word.end
        best = min(best or (is_apart, rank, at), (is_apart, rank, at))
    return None if best is None else best[2]
