"""Few combinations of options, in which any two options meet."""

import random
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any

Choice = tuple[int, ...]


def _pairs(choice: Choice) -> set[tuple[tuple[int, int], ...]]:
    """Any two axes, each with its option."""
    return set(combinations(enumerate(choice), 2))


def combinations_with_every_pair(axes: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Draw combinations of one option of each axis until no pair of options is missing."""
    everything = [range(len(options)) for options in axes.values()]
    rng = random.Random(4)  # noqa: S311 -- reproducible on purpose
    missing = {
        pair
        for first, second in combinations(range(len(everything)), 2)
        for pair in product(
            ((first, place) for place in everything[first]), ((second, place) for place in everything[second])
        )
    }
    chosen: list[Choice] = []
    while missing:
        drawn = [tuple(rng.choice(places) for places in everything) for _ in range(40)]
        chosen.append(max(drawn, key=lambda choice: len(missing & _pairs(choice))))
        missing -= _pairs(chosen[-1])
    return [
        {name: options[place] for (name, options), place in zip(axes.items(), choice, strict=True)}
        for choice in chosen
    ]
