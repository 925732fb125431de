"""Statistics over rounds that each measure everything once: medians, spreads, paired ratios.

The speed of a shared machine drifts. Engines that take turns within a round have the same drift, so that the
ratio of two of them is computed per round, and the median is taken of these ratios.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from tqdm import tqdm

Case = TypeVar("Case")
Name = TypeVar("Name")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Spread:
    """Median, least and greatest of the rounds."""

    median: float
    least: float
    most: float


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))


def speed_ratios(seconds: Sequence[float], reference_seconds: Sequence[float]) -> Spread:
    """Return speed relative to the reference; both are measured in the same rounds, in the same order."""
    return spread([theirs / ours for ours, theirs in zip(seconds, reference_seconds, strict=True)])


def turn(names: Sequence[Name], round_number: int) -> list[Name]:
    """Return the order of one round: the names, rotated so that each round begins with another one."""
    begin = round_number % len(names)
    return [*names[begin:], *names[:begin]]


def interleave(
    cases: Sequence[Case], names: Sequence[Name], num_rounds: int, measure: Callable[[Case, Name, int], Value]
) -> dict[tuple[Case, Name], list[Value]]:
    """Measure every case with every name, which take turns, round by round; return the values of all rounds.

    `measure` is called with a case, a name and the number of the round.
    """
    found: dict[tuple[Case, Name], list[Value]] = {(case, name): [] for case in cases for name in names}
    plan = [(number, case) for number in range(num_rounds) for case in cases]
    for number, case in tqdm(plan, desc="rounds x cases", disable=None):
        for name in turn(names, number):
            found[case, name].append(measure(case, name, number))
    return found
