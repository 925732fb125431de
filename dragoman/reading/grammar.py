"""The contents of a module of `grammars`."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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


class Texts:
    """Texts that are looked through together, which takes a fraction of the time of one look at each."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        self._exact = _JoinedTexts(texts)
        self._lower = _JoinedTexts([text.lower() for text in texts])

    def with_any(self, signs: Iterable[str]) -> set[int]:
        """Return the positions of texts that have one of the signs when they are in lower case."""
        return {number for sign in signs for number in self._lower.with_sign(sign)}

    def matching(self, pattern: re.Pattern[str]) -> set[int]:
        """Return the positions of texts in which a pattern, which matches no line break, is found."""
        return set(map(self._exact.number_at, map(re.Match.start, pattern.finditer(self._exact.text))))


class _JoinedTexts:
    def __init__(self, texts: Sequence[str]) -> None:
        self.text = "\n".join(texts)
        self._starts = [0, *accumulate(len(text) + 1 for text in texts)]

    def number_at(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def with_sign(self, sign: str) -> Iterator[int]:
        offset = self.text.find(sign)
        while offset >= 0:
            number = self.number_at(offset)
            yield number
            offset = self.text.find(sign, self._starts[number + 1])


class Finder(NamedTuple):
    """What changes one kind of words in texts."""

    find: Find
    may_find: Callable[[Texts], Iterable[int]]
    """Returns the positions of the texts in which it may find something: a quick look at all."""


def after_signs(find: Find, *signs: str | re.Pattern[str]) -> Finder:
    """Return a finder for texts that have one of the signs: text in lower case, or a pattern."""
    patterns = [sign for sign in signs if isinstance(sign, re.Pattern)]
    words = [sign for sign in signs if isinstance(sign, str)]
    return Finder(find, lambda texts: texts.with_any(words).union(*map(texts.matching, patterns)))


class Grammar(Protocol):
    """The contents of a module of `grammars`."""

    READINGS: Mapping[str, Finder]
    """By the name that `reading.toml` has for it."""
    FUNCTION_WORDS: frozenset[str]
    """Words in lower case that begin a sentence if they have a capital; no noun and no name is among them."""
