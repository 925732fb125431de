"""Streams of random choices, each a function of the seed and a name."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
Weighted = Sequence[tuple[float, T]]
Maker = Callable[[Random], T]


def stream(seed: int, name: str) -> Random:
    """A stream of its own for each name, so that one more kind of copy leaves all others as they were."""
    return Random(f"{seed} {name}")  # noqa: S311 -- wanted the same again, not secret


def pick(rng: Random, choices: Weighted[T]) -> T:
    """One of the choices, by weight."""
    (chosen,) = rng.choices([item for _, item in choices], [weight for weight, _ in choices])
    return chosen


def words(text: str) -> tuple[str, ...]:
    """A list written as prose, for long ones."""
    return tuple(text.split())
