"""Emphasis delimiters, placed where CommonMark recognises them (0.31.2, 6.2)."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from service.formats.inline_runs import Item, Kind

DELIMITERS = {"em": "*", "strong": "**", "s": "~~"}
"""Delimiters by meaning; unlike `_`, `*` may stand within a word."""

_ALTERNATIVE_DELIMITERS = (DELIMITERS, DELIMITERS | {"em": "_"}, DELIMITERS | {"strong": "__"})


def name_of(item: Item) -> str:
    """Return the meaning of an emphasis element; an empty string for anything else."""
    name = (item.note or "").removeprefix("/")
    return name if item.kind in {Kind.OPEN, Kind.CLOSE} and name in DELIMITERS else ""


def spellings(items: Sequence[Item]) -> list[list[Item]]:
    """Return ways to write emphasised text: as close to the original as possible first, plain text last.

    Args:
        items: elements have no white space at their edges, and no emphasis element is empty.
    """
    moved = _move_delimiters(items)
    others = [
        [replace(item, raw=marks[name_of(item)]) if name_of(item) else item for item in moved]
        for marks in _ALTERNATIVE_DELIMITERS
    ]
    return [list(items), moved, *others, [item for item in items if not name_of(item)]]


def _move_delimiters(items: Sequence[Item]) -> list[Item]:
    """Move delimiters between a letter and punctuation past the punctuation, else past the letters."""
    moved = list(items)
    for step in (1, -1):
        kind = Kind.OPEN if step > 0 else Kind.CLOSE
        i = 0 if step > 0 else len(moved) - 1
        while 0 <= i < len(moved):
            if moved[i].kind is kind and name_of(moved[i]):
                i = _move_delimiter(moved, i, step)
            i += step
    return list(_merge_texts(moved))


def _merge_texts(items: Sequence[Item]) -> Iterator[Item]:
    for is_text, group in groupby(items, key=lambda item: item.kind is Kind.TEXT):
        if is_text:
            yield Item(Kind.TEXT, "".join(item.text for item in group))
        else:
            yield from group


def _move_delimiter(items: list[Item], i: int, step: int) -> int:
    """Move a delimiter if necessary; return where it is then, or the last item that was inspected.

    Args:
        items: changed in place.
        i: position of the delimiter.
        step: direction of the emphasised text: 1 for after the delimiter, -1 for before it.
    """
    outside, inside = _text(items, i - step), _text(items, i + step)
    if not _is_letter(_edge(outside, -step)) or _is_letter(_edge(inside, step)):
        return i
    num_signs = next((n for n, one in enumerate(inside[::step]) if _is_letter(one)), None)
    if num_signs is not None:
        over, kept = _split_off(inside, num_signs, step)
        items[i + step] = replace(items[i + step], text=kept)
        items.insert(i + (step < 0), Item(Kind.TEXT, over))
        return i + (step > 0)
    num_letters = next((n for n, one in enumerate(outside[::-step]) if not _is_letter(one)), len(outside))
    over, kept = _split_off(outside, num_letters, -step)
    items[i - step] = replace(items[i - step], text=kept)
    items.insert(i + (step > 0), Item(Kind.TEXT, over))
    return i + (step < 0)


def _text(items: Sequence[Item], i: int) -> str:
    return items[i].text if 0 <= i < len(items) and items[i].kind is Kind.TEXT else ""


def _edge(text: str, step: int) -> str:
    """Return the first character (1) or the last (-1)."""
    return text[:1] if step > 0 else text[-1:]


def _split_off(text: str, num: int, step: int) -> tuple[str, str]:
    """Split off characters at the beginning (1) or the end (-1); return them and the rest."""
    return (text[:num], text[num:]) if step > 0 else (text[len(text) - num :], text[: len(text) - num])


def _is_letter(character: str) -> bool:
    """Return whether CommonMark's rules for delimiters count a character as neither space nor punctuation."""
    return bool(character) and not character.isspace() and unicodedata.category(character)[0] not in "PS"
