"""Counters without locks: one thread writes a counter, and others may read a slightly old value."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field


class Histogram:
    """A histogram: number of values per bucket, and their sum."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        """Start empty.

        Args:
            bounds: inclusive upper bounds of the buckets, ascending; a last bucket takes all larger values.
        """
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def merge(self, other: "Histogram") -> None:
        """Add the values of another histogram with the same bounds."""
        self.counts = [mine + its for mine, its in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    def buckets(self) -> list[tuple[str, float]]:
        """Return Prometheus's cumulative buckets: each upper bound, and the number of values up to it."""
        found, num_values = [], 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), list(self.counts), strict=True):
            num_values += count
            found.append((bound, float(num_values)))
        return found


@dataclass(slots=True)
class LabeledCounter:
    """Numbers of events by labels."""

    by_labels: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, *labels: str, amount: int = 1) -> None:
        self.by_labels[labels] = self.by_labels.get(labels, 0) + amount

    def merge(self, other: "LabeledCounter") -> None:
        # Another thread may be counting; copy() is atomic.
        for labels, amount in other.by_labels.copy().items():
            self.add(*labels, amount=amount)
