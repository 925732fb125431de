"""Delimiters of emphasis put where CommonMark reads them as such (0.31.2, 6.2)."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from service.formats.inline_runs import Item, Kind

DELIMITERS = {"em": "*", "strong": "**", "s": "~~"}
"""By what they mean; `*` may stand within a word, which `_` may not."""

_OTHERS = (DELIMITERS, DELIMITERS | {"em": "_"}, DELIMITERS | {"strong": "__"})


def name_of(item: Item) -> str:
    """What an element of emphasis means; nothing for anything else."""
    name = (item.note or "").removeprefix("/")
    return name if item.kind in {Kind.OPEN, Kind.CLOSE} and name in DELIMITERS else ""


def spellings(items: Sequence[Item]) -> list[list[Item]]:
    """Ways to write what is to be emphasised, the nearest to how it was written first, plain text last.

    Args:
        items: white space is not at the edges of elements, and no element of emphasis is empty.
    """
    moved = _moved(items)
    others = [
        [replace(item, raw=marks[name_of(item)]) if name_of(item) else item for item in moved]
        for marks in _OTHERS
    ]
    return [list(items), moved, *others, [item for item in items if not name_of(item)]]


def _moved(items: Sequence[Item]) -> list[Item]:
    """Delimiters between a letter and a sign go over the sign, or over the letters if there is no more."""
    moved = list(items)
    for step in (1, -1):
        kind = Kind.OPEN if step > 0 else Kind.CLOSE
        i = 0 if step > 0 else len(moved) - 1
        while 0 <= i < len(moved):
            if moved[i].kind is kind and name_of(moved[i]):
                i = _move(moved, i, step)
            i += step
    return list(_merged(moved))


def _merged(items: Sequence[Item]) -> Iterator[Item]:
    for is_text, group in groupby(items, key=lambda item: item.kind is Kind.TEXT):
        if is_text:
            yield Item(Kind.TEXT, "".join(item.text for item in group))
        else:
            yield from group


def _move(items: list[Item], i: int, step: int) -> int:
    """Move a delimiter if it must be; gives where it is then, or the last item that was seen.

    Args:
        items: changed in place.
        i: of the delimiter.
        step: where what it emphasises begins: 1 for after it, -1 for before it.
    """
    outside, inside = _text(items, i - step), _text(items, i + step)
    if not _is_letter(_edge(outside, -step)) or _is_letter(_edge(inside, step)):
        return i
    num_signs = next((n for n, one in enumerate(inside[::step]) if _is_letter(one)), None)
    if num_signs is not None:
        over, kept = _cut(inside, num_signs, step)
        items[i + step] = replace(items[i + step], text=kept)
        items.insert(i + (step < 0), Item(Kind.TEXT, over))
        return i + (step > 0)
    num_letters = next((n for n, one in enumerate(outside[::-step]) if not _is_letter(one)), len(outside))
    over, kept = _cut(outside, num_letters, -step)
    items[i - step] = replace(items[i - step], text=kept)
    items.insert(i + (step > 0), Item(Kind.TEXT, over))
    return i + (step < 0)


def _text(items: Sequence[Item], i: int) -> str:
    return items[i].text if 0 <= i < len(items) and items[i].kind is Kind.TEXT else ""


def _edge(text: str, step: int) -> str:
    """The first character (1) or the last (-1)."""
    return text[:1] if step > 0 else text[-1:]


def _cut(text: str, num: int, step: int) -> tuple[str, str]:
    """So many characters from the beginning (1) or the end (-1), and the others."""
    return (text[:num], text[num:]) if step > 0 else (text[len(text) - num :], text[: len(text) - num])


def _is_letter(character: str) -> bool:
    """Whether a delimiter beside it may need one on its other side: neither white space nor a sign."""
    return bool(character) and not character.isspace() and unicodedata.category(character)[0] not in "PS"
