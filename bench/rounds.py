"""Statistics over rounds that each measure everything once: medians, spreads, paired ratios.

The speed of a shared machine drifts. Engines that take turns within a round have the same drift, so that the
ratio of two of them is computed per round, and the median is taken of these ratios.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


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


def turn(names: Sequence[str], round_number: int) -> list[str]:
    """Return the order of one round: the names, rotated so that each round begins with another one."""
    begin = round_number % len(names)
    return [*names[begin:], *names[:begin]]
