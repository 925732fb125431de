"""Counters without locks: one thread writes a counter, and others may read a slightly old value."""

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

from dragoman.scheduling.metrics import EngineMetrics, SegmentRecord
from dragoman.scheduling.replica import FORCED_METHODS
from dragoman.types import SearchKind
from service.telemetry.tracing import NO_TRACING, Tracing


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


DURATION_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


@dataclass(slots=True)
class RequestCounters:
    """Counters by names that the server defines: API, route, status class, kind of error."""

    in_flight: int = 0
    durations_s: dict[tuple[str, ...], Histogram] = field(default_factory=dict)
    """Durations of requests in seconds, by API, route and status class."""
    characters: LabeledCounter = field(default_factory=LabeledCounter)
    """Characters to translate, by API."""
    rejections: LabeledCounter = field(default_factory=LabeledCounter)
    """Error responses, by kind of error."""

    def count(self, api: str, route: str, status_class: str, duration_s: float) -> None:
        """Count a request that has ended."""
        labels = (api, route, status_class)
        found = self.durations_s.get(labels)
        if found is None:
            found = self.durations_s[labels] = Histogram(DURATION_BOUNDS_S)
        found.add(duration_s)


HEARTBEAT_S = 60.0
"""Default seconds within which a loop must give its next heartbeat."""


@dataclass(slots=True)
class WorkerCounters:
    """Heartbeats and counts of one process. The server defines all labels."""

    monotonic: Callable[[], float] = time.monotonic
    """Returns seconds."""
    restarts: LabeledCounter = field(default_factory=LabeledCounter)
    """Restarts after a failure, by loop."""
    jobs: LabeledCounter = field(default_factory=LabeledCounter)
    """Jobs that ended in this process, by state."""
    _beats: dict[str, tuple[float, float]] = field(default_factory=dict)

    def beat(self, worker: str, next_within_s: float = HEARTBEAT_S) -> None:
        """Record a heartbeat of a loop. Any thread may call this.

        Args:
            worker: name of the loop.
            next_within_s: seconds without a further heartbeat after which it counts as silent.
        """
        now_s = self.monotonic()
        self._beats[worker] = (now_s, now_s + next_within_s)

    def heartbeat_ages_s(self) -> dict[str, float]:
        """Return the seconds since the last heartbeat of each loop."""
        now_s = self.monotonic()
        return {worker: now_s - last_s for worker, (last_s, _) in self._beats.copy().items()}

    def silent(self) -> dict[str, float]:
        """Return the same for the loops whose next heartbeat is overdue."""
        now_s, heartbeat_ages_s = self.monotonic(), self.heartbeat_ages_s()
        return {
            worker: heartbeat_ages_s[worker]
            for worker, (_, due_s) in self._beats.copy().items()
            if due_s < now_s
        }


WAIT_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STEP_BOUNDS_S = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
ROW_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(slots=True)
class EngineCounters:
    """Counters of one thread, or the sum of several."""

    queue_s: Histogram = field(default_factory=lambda: Histogram(WAIT_BOUNDS_S))
    first_token_s: Histogram = field(default_factory=lambda: Histogram(WAIT_BOUNDS_S))
    step_s: Histogram = field(default_factory=lambda: Histogram(STEP_BOUNDS_S))
    step_rows: Histogram = field(default_factory=lambda: Histogram(ROW_BOUNDS))
    capacity_row_steps: int = 0
    """Maximum rows of a step, summed over all steps."""
    source_tokens: int = 0
    target_tokens: int = 0
    segments: LabeledCounter = field(default_factory=LabeledCounter)
    """Segments that left the engine, by method and outcome."""
    finished: LabeledCounter = field(default_factory=LabeledCounter)
    """Translated segments by finish reason."""
    refused: int = 0
    cache_hit: int = 0

    def merge(self, other: "EngineCounters") -> None:
        """Add the counters of another."""
        for counter in fields(self):
            mine, its = getattr(self, counter.name), getattr(other, counter.name)
            if isinstance(mine, int):
                setattr(self, counter.name, mine + its)
            else:
                mine.merge(its)


class _ThreadLocal(threading.local):
    counters: EngineCounters | None = None


class EngineMetricsCollector(EngineMetrics):
    """The `EngineMetrics` of a process. Each thread has its own counters, so no step waits for a lock."""

    def __init__(self, tracing: Tracing = NO_TRACING) -> None:
        """Start with empty counters.

        Args:
            tracing: records every source that has left.
        """
        self._tracing = tracing
        self._own = _ThreadLocal()
        self._by_thread: list[tuple[threading.Thread, EngineCounters]] = []
        self._ended = EngineCounters()
        """Sum of the counters of threads that have ended."""
        self._lock = threading.Lock()

    def total(self) -> EngineCounters:
        """Return the sum of all threads' counters."""
        with self._lock:
            self._merge_ended_threads()
            total = EngineCounters()
            total.merge(self._ended)
            for _, counters in self._by_thread:
                total.merge(counters)
        return total

    def trace_context(self) -> object:
        return self._tracing.trace_context()

    def segments_joined(self, kind: SearchKind, waited_s: Sequence[float]) -> None:
        if kind.method in FORCED_METHODS:  # they follow a search whose wait was counted
            return
        queue_s = self._counters().queue_s
        for waited in waited_s:
            queue_s.add(waited)

    def first_token(self, after_s: Sequence[float]) -> None:
        first_token_s = self._counters().first_token_s
        for after in after_s:
            first_token_s.add(after)

    def step_done(self, num_rows: int, num_sources: int, capacity_rows: int, duration_s: float) -> None:  # noqa: ARG002 -- part of the protocol
        counters = self._counters()
        counters.step_s.add(duration_s)
        counters.step_rows.add(num_rows)
        counters.capacity_row_steps += capacity_rows

    def segments_left(self, records: Sequence[SegmentRecord]) -> None:
        counters = self._counters()
        for record in records:
            method = record.kind.method
            counters.segments.add(method.value, record.ending.value)
            if method not in FORCED_METHODS and record.finish_reason is not None:
                counters.source_tokens += record.num_source_tokens
                counters.target_tokens += record.num_target_tokens
                counters.finished.add(record.finish_reason.value)
        self._tracing.segments_left(records)

    def rejected(self, num_sources: int) -> None:
        self._counters().refused += num_sources

    def cache_hit(self) -> None:
        self._counters().cache_hit += 1

    def _counters(self) -> EngineCounters:
        counters = self._own.counters
        if counters is not None:
            return counters
        counters = self._own.counters = EngineCounters()
        with self._lock:
            self._merge_ended_threads()
            self._by_thread.append((threading.current_thread(), counters))
        return counters

    def _merge_ended_threads(self) -> None:
        """Move the counters of ended threads into `_ended`. The caller holds the lock."""
        running = []
        for thread, counters in self._by_thread:
            if thread.is_alive():
                running.append((thread, counters))
            else:
                self._ended.merge(counters)
        self._by_thread = running
