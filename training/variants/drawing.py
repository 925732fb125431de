"""Random streams, each a function of the seed and a name, and the lists to draw from."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

T = TypeVar("T")
Weighted = Sequence[tuple[float, T]]
Maker = Callable[[Random], T]

_WORD_LISTS = Path(__file__).parent / "word_lists"


def stream(seed: int, name: str) -> Random:
    """Return a separate stream for each name, so that a new kind of copy does not change the others."""
    return Random(f"{seed} {name}")  # noqa: S311 -- reproducible, not secret


def pick(rng: Random, choices: Weighted[T]) -> T:
    """Draw one of the choices by weight."""
    (chosen,) = rng.choices([item for _, item in choices], [weight for weight, _ in choices])
    return chosen


def words(text: str) -> tuple[str, ...]:
    """Split a text into words; a readable way to write long lists."""
    return tuple(text.split())


def word_list(name: str) -> tuple[str, ...]:
    """Read a list from `word_lists/`, one entry per line."""
    return tuple((_WORD_LISTS / f"{name}.txt").read_text(encoding="utf8").splitlines())


def sectioned_list(name: str) -> dict[str, list[str]]:
    """Read a word list with headings between brackets."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in word_list(name):
        if heading := re.fullmatch(r"\[([a-z ]+)\]", line):
            lines = found.setdefault(heading[1], [])
        else:
            lines.append(line)
    return found
