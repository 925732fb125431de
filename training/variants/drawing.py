"""Random streams, each a function of the seed and a name."""

from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")
Weighted = Sequence[tuple[float, T]]
Maker = Callable[[Random], T]


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
