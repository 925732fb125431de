"""Elements of HTML that touch without white space: whether a new text begins between them."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from service.text.marked_text import Mark, MarkKind

_LINK = re.compile(r"</?a[\s/>]", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s|/\\·•,;:>»<«–—-]*")  # noqa: RUF001 -- a dash
_MIN_LETTERS = 2


def touching_breaks(text: str, marks: Sequence[Mark], raws: Sequence[str]) -> list[int]:
    """Return positions between touching elements at which a new text begins, in order.

    Links that touch are separate, and so are all links of a text of nothing else. Of other elements, the
    second begins a text if it begins with a capital letter and the first does not end with one, as the words
    `Name:` and `Hund` do in `<b>Name:</b>Hund`; `<b>Donau</b><i>dampfer</i>` is one word.

    Args:
        text: the text.
        marks: its marks, in order.
        raws: source form of each mark, by number.
    """
    if links := _links_only(text, marks, raws):
        return links
    return [
        at
        for at, group in groupby(marks, key=lambda mark: mark.at)
        if 0 < at < len(text) and _is_break(text, at, [(mark.kind, raws[mark.number]) for mark in group])
    ]


def _is_break(text: str, at: int, found: Sequence[tuple[MarkKind, str]]) -> bool:
    if text[at - 1].isspace() or text[at].isspace():
        return False
    before = text[max(0, at - _MIN_LETTERS - 1) : at]
    if before[-1] in ".:!?" and before[:-1].isalpha() and len(before) > _MIN_LETTERS and text[at].isalpha():
        return True
    kinds = [kind for kind, _ in found]
    if MarkKind.CLOSE not in kinds or MarkKind.OPEN not in kinds[kinds.index(MarkKind.CLOSE) :]:
        return False
    is_link = [_LINK.match(raw) is not None for _, raw in found]
    if sum(is_link) > 1:
        return True
    return text[at].isupper() and text[at - 1].isalpha() and not text[at - 1].isupper()


def _links_only(text: str, marks: Sequence[Mark], raws: Sequence[str]) -> list[int]:
    """Return the edges of each link of a text that is only links and separators; none for any other text."""
    edges: list[int] = []
    end = 0
    for start, stop in _links(marks, raws):
        if not _SEPARATORS.fullmatch(text, end, start):
            return []
        edges += [start, stop]
        end = stop
    is_only = len(edges) > _MIN_LETTERS and _SEPARATORS.fullmatch(text, end)
    return sorted({at for at in edges if 0 < at < len(text)}) if is_only else []


def _links(marks: Sequence[Mark], raws: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions of links that are not within others."""
    end = 0
    for mark in marks:
        is_open = mark.kind is MarkKind.OPEN and mark.partner is not None and mark.at >= end
        if is_open and mark.partner is not None and _LINK.match(raws[mark.number]):
            end = marks[mark.partner].at
            yield mark.at, end
