"""The contents of a module of `grammars`."""

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from dragoman.types import Span

SPACE = "[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]"
DASH = "[-\N{NON-BREAKING HYPHEN}\N{EN DASH}]"
"""Patterns of a space and of a hyphen between words."""
Found = tuple[Span, str]
"""A part of a text, and what the model reads there."""
Find = Callable[[str], Iterator[Found]]
"""Yields the parts of a text that a reading changes, in any order."""


class Grammar(Protocol):
    """The contents of a module of `grammars`."""

    READINGS: Mapping[str, Find]
    """By the name that `reading.toml` has for it."""
    FUNCTION_WORDS: frozenset[str]
    """Words in lower case that begin a sentence if they have a capital; no noun and no name is among them."""
