"""Fields of Word documents: content that the application fills in between two marks (ECMA-376-1, 17.16)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from service.formats.inline_runs import Item, Kind

FIELD_NOTE = "field:"
"""Prefix of `begin`, `separate`, `end` and `code` in the notes of field marks, which are breaks."""
_TRANSLATED_FIELDS = ("HYPERLINK",)
"""Fields whose result is the author's text."""


@dataclass(frozen=True, slots=True)
class _Marks:
    """Positions of fields' end and separator marks, by the position of a begin mark in the same element."""

    ends: dict[int, int]
    separators: dict[int, int]


def collapse_fields(items: Sequence[Item], write_items: Callable[[Sequence[Item]], str]) -> list[Item]:
    """Replace each field by a word, or by an element around its result if the result is translated.

    Marks of fields that begin or end in another paragraph stay breaks.
    """
    marks = _marks(items)
    result: list[Item] = []
    translated_ends: set[int] = set()
    i = 0
    while i < len(items):
        end, separator = marks.ends.get(i), marks.separators.get(i)
        if i in translated_ends:
            result.append(Item(Kind.CLOSE, raw=items[i].raw))
        elif end is None:
            result.append(items[i])
        elif separator is not None and _code(items[i:separator]).startswith(_TRANSLATED_FIELDS):
            result.append(Item(Kind.OPEN, raw=write_items(items[i : separator + 1])))
            translated_ends.add(end)
            i = separator
        else:
            result.append(Item(Kind.WORD, raw=write_items(items[i : end + 1])))
            i = end
        i += 1
    return result


def _marks(items: Sequence[Item]) -> _Marks:
    marks = _Marks({}, {})
    parents = [-1]
    open_fields: list[tuple[int, int]] = []
    for i, item in enumerate(items):
        if item.kind is Kind.OPEN:
            parents.append(i)
        elif item.kind is Kind.CLOSE:
            parents.pop()
        elif item.note == f"{FIELD_NOTE}begin":
            open_fields.append((i, parents[-1]))
        elif open_fields and open_fields[-1][1] == parents[-1] and item.note == f"{FIELD_NOTE}separate":
            marks.separators.setdefault(open_fields[-1][0], i)
        elif open_fields and item.note == f"{FIELD_NOTE}end":
            start, parent = open_fields.pop()
            if parent == parents[-1]:
                marks.ends[start] = i
    return marks


def _code(items: Sequence[Item]) -> str:
    return "".join(item.text for item in items if item.note == f"{FIELD_NOTE}code").strip()
