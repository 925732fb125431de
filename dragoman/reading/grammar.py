"""The contents of a module of `grammars`."""

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple, Protocol

from dragoman.types import Span

SPACE = "[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]"
DASH = "[-\N{NON-BREAKING HYPHEN}\N{EN DASH}]"
"""Patterns of a space and of a hyphen between words."""
Found = tuple[Span, str]
"""A part of a text, and what the model reads there."""
Find = Callable[[str], Iterator[Found]]
"""Yields the parts of a text that a reading changes, in any order."""


Sign = str | re.Pattern[str]
"""Text in lower case, or a pattern that matches no line break."""


class Texts:
    """Texts that are looked through together, which takes a fraction of the time of one look at each."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._exact, self._lower = _join(texts), _join([text.lower() for text in texts])

    def with_sign(self, sign: Sign) -> Iterator[int]:
        """Yield the positions of the texts that have a sign."""
        text, starts = self._lower if isinstance(sign, str) else self._exact
        found = _find(text, sign) if isinstance(sign, str) else map(re.Match.start, sign.finditer(text))
        return (bisect_right(starts, offset) - 1 for offset in found)


class Finder(NamedTuple):
    """Rewrites one kind of words in texts."""

    find: Find
    may_find: Callable[[Texts], Collection[int]]
    """Returns the positions of the texts in which it may find something: a quick look at all."""


def after_signs(find: Find, *signs: Sign) -> Finder:
    """Return a finder for texts that have one of the signs."""
    return Finder(find, lambda texts: {number for sign in signs for number in texts.with_sign(sign)})


def _join(texts: Sequence[str]) -> tuple[str, list[int]]:
    """Return texts in lines of one text, and where they start."""
    return "\n".join(texts), [*accumulate((len(text) + 1 for text in texts), initial=0)]


def _find(text: str, part: str) -> Iterator[int]:
    offset = text.find(part)
    while offset >= 0:
        yield offset
        offset = text.find(part, offset + 1)


class Grammar(Protocol):
    """The contents of a module of `grammars`."""

    READINGS: Mapping[str, Finder]
    """By the name that `reading.toml` has for it."""
    FUNCTION_WORDS: frozenset[str]
    """Words in lower case that begin a sentence if they have a capital; no noun and no name is among them."""
