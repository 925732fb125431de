"""Puts no-break spaces back, which the model sees as blanks: next to numbers, their units and objects."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

NO_BREAK_SPACE = "\u00a0"
_SPACES = (NO_BREAK_SPACE, "\u202f")
_TOKEN = re.compile(r"(?<!\S)[^\s\d]*+\d\S*+")
_NO_DIGITS = re.compile(r"\D+")

Bounds = tuple[int, int]
"""Start and end of a number or an object."""


def has_no_break_space(text: str) -> bool:
    """Return whether a text has a no-break space."""
    return any(space in text for space in _SPACES)


def with_no_break_spaces(source: str, target: str, objects: Sequence[tuple[Bounds, Bounds]]) -> str:
    """Return a translation with no-break spaces beside its numbers and objects where the source has them.

    The length does not change.

    Args:
        source: a segment.
        target: its translation.
        objects: position of each object in both.
    """
    numbers: defaultdict[str, deque[Bounds]] = defaultdict(deque)
    for digits, bounds in _numbers(target):
        numbers[digits].append(bounds)
    pairs = [(bounds, numbers[digits].popleft()) for digits, bounds in _numbers(source) if numbers[digits]]
    characters = list(target)
    for in_source, found in (*pairs, *objects):
        for at, to in ((in_source[0] - 1, found[0] - 1), (in_source[1], found[1])):
            space = source[at : at + 1] if at >= 0 else ""
            if space in _SPACES and 0 <= to < len(target) and characters[to] == " ":
                characters[to] = space
    return "".join(characters)


def _numbers(text: str) -> Iterator[tuple[str, Bounds]]:
    return ((_NO_DIGITS.sub("", found[0]), found.span()) for found in _TOKEN.finditer(text))
