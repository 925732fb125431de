"""Metrics of the engine, counted on its own threads and read on request."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.scheduling.metrics import SegmentRecord
from dragoman.scheduling.replica import FORCED_METHODS
from dragoman.types import SearchKind
from service.telemetry.counters import Histogram, LabeledCounter
from service.telemetry.tracing import NO_TRACING, Tracing

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
        self.queue_s.merge(other.queue_s)
        self.first_token_s.merge(other.first_token_s)
        self.step_s.merge(other.step_s)
        self.step_rows.merge(other.step_rows)
        self.segments.merge(other.segments)
        self.finished.merge(other.finished)
        self.capacity_row_steps += other.capacity_row_steps
        self.source_tokens += other.source_tokens
        self.target_tokens += other.target_tokens
        self.refused += other.refused
        self.cache_hit += other.cache_hit


class _ThreadLocal(threading.local):
    counters: EngineCounters | None = None


class EngineMetricsCollector:
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
