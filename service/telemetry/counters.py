"""Counts without locks: each is written by one thread, and read by another that does not mind being late."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field


class Distribution:
    """How often values fell between bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        """Nothing yet.

        Args:
            bounds: rising; each is the largest value of its bucket, and one bucket comes after the last.
        """
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def merge(self, other: "Distribution") -> None:
        """Add what another of the same bounds has counted."""
        self.counts = [mine + its for mine, its in zip(self.counts, other.counts, strict=True)]
        self.total += other.total

    def buckets(self) -> list[tuple[str, float]]:
        """As Prometheus has them: upper bounds, and how many values are no larger."""
        found, num_values = [], 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), list(self.counts), strict=True):
            num_values += count
            found.append((bound, float(num_values)))
        return found


@dataclass(slots=True)
class Counts:
    """How often things of some kinds happened."""

    by_labels: dict[tuple[str, ...], int] = field(default_factory=dict)

    def add(self, *labels: str, amount: int = 1) -> None:
        self.by_labels[labels] = self.by_labels.get(labels, 0) + amount

    def merge(self, other: "Counts") -> None:
        # A copy, which no thread can interrupt, as another may be counting.
        for labels, amount in other.by_labels.copy().items():
            self.add(*labels, amount=amount)
