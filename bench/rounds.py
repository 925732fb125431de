"""Figures of several rounds in which everything was measured once: medians, spreads, paired ratios.

The speed of a shared machine drifts. Engines that take turns within a round meet the same drift, so the ratio
of two of them is formed round by round, and only then the median is taken.
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
    """Of at least one value."""
    return Spread(statistics.median(values), min(values), max(values))


def speed_ratios(seconds: Sequence[float], reference_seconds: Sequence[float]) -> Spread:
    """How many times as fast as the reference; both measured in the same rounds, in the same order."""
    return spread([theirs / ours for ours, theirs in zip(seconds, reference_seconds, strict=True)])


def turn(names: Sequence[str], round_number: int) -> list[str]:
    """The order of one round: each round begins with another, so that nobody always runs after the same."""
    begin = round_number % len(names)
    return [*names[begin:], *names[:begin]]
