"""What the engine does, counted on its own threads and read when somebody asks."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from dragoman.batching.meters import Passage
from dragoman.batching.replica import READINGS
from dragoman.types import SearchKind
from service.observing.tallies import Counts, Distribution
from service.observing.tracing import NO_TRACING, Tracing

WAIT_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
STEP_BOUNDS_S = (0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)
ROW_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


@dataclass(slots=True)
class EngineTally:
    """What one thread has seen, or several together."""

    queue_s: Distribution = field(default_factory=lambda: Distribution(WAIT_BOUNDS_S))
    first_token_s: Distribution = field(default_factory=lambda: Distribution(WAIT_BOUNDS_S))
    step_s: Distribution = field(default_factory=lambda: Distribution(STEP_BOUNDS_S))
    step_rows: Distribution = field(default_factory=lambda: Distribution(ROW_BOUNDS))
    capacity_row_steps: int = 0
    """Rows that there was room for, in all steps together."""
    source_tokens: int = 0
    target_tokens: int = 0
    segments: Counts = field(default_factory=Counts)
    """By method and ending."""
    finished: Counts = field(default_factory=Counts)
    """By finish reason."""
    refused: int = 0
    recalled: int = 0

    def take_in(self, other: "EngineTally") -> None:
        """Add what another has seen."""
        self.queue_s.take_in(other.queue_s)
        self.first_token_s.take_in(other.first_token_s)
        self.step_s.take_in(other.step_s)
        self.step_rows.take_in(other.step_rows)
        self.segments.take_in(other.segments)
        self.finished.take_in(other.finished)
        self.capacity_row_steps += other.capacity_row_steps
        self.source_tokens += other.source_tokens
        self.target_tokens += other.target_tokens
        self.refused += other.refused
        self.recalled += other.recalled


class _Own(threading.local):
    tally: EngineTally | None = None


class EngineMeter:
    """A meter for all translators of a process. No step waits for a lock: every thread has its own tally."""

    def __init__(self, tracing: Tracing = NO_TRACING) -> None:
        """Nothing seen yet.

        Args:
            tracing: is told of every source that has left.
        """
        self._tracing = tracing
        self._own = _Own()
        self._tallies: list[tuple[threading.Thread, EngineTally]] = []
        self._past = EngineTally()
        """Of threads that have ended."""
        self._lock = threading.Lock()

    def total(self) -> EngineTally:
        """What all threads have seen by now."""
        with self._lock:
            self._fold()
            total = EngineTally()
            total.take_in(self._past)
            for _, tally in self._tallies:
                total.take_in(tally)
        return total

    def mark(self) -> object:
        return self._tracing.mark()

    def joined(self, kind: SearchKind, waited_s: Sequence[float]) -> None:
        if kind.method in READINGS:  # they follow a search that has waited already
            return
        queue_s = self._tally().queue_s
        for waited in waited_s:
            queue_s.add(waited)

    def began(self, after_s: Sequence[float]) -> None:
        first_token_s = self._tally().first_token_s
        for after in after_s:
            first_token_s.add(after)

    def stepped(self, num_rows: int, num_sources: int, capacity_rows: int, duration_s: float) -> None:  # noqa: ARG002 -- the protocol's
        tally = self._tally()
        tally.step_s.add(duration_s)
        tally.step_rows.add(num_rows)
        tally.capacity_row_steps += capacity_rows

    def left(self, passages: Sequence[Passage]) -> None:
        tally = self._tally()
        for passage in passages:
            method = passage.kind.method
            tally.segments.add(method.value, passage.ending.value)
            if method not in READINGS and passage.finish_reason is not None:
                tally.source_tokens += passage.num_source_tokens
                tally.target_tokens += passage.num_target_tokens
                tally.finished.add(passage.finish_reason.value)
        self._tracing.left(passages)

    def refused(self, num_sources: int) -> None:
        self._tally().refused += num_sources

    def recalled(self) -> None:
        self._tally().recalled += 1

    def _tally(self) -> EngineTally:
        tally = self._own.tally
        if tally is not None:
            return tally
        tally = self._own.tally = EngineTally()
        with self._lock:
            self._fold()
            self._tallies.append((threading.current_thread(), tally))
        return tally

    def _fold(self) -> None:
        """Add what threads that have ended saw to the past. With the lock held."""
        running = []
        for thread, tally in self._tallies:
            if thread.is_alive():
                running.append((thread, tally))
            else:
                self._past.take_in(tally)
        self._tallies = running
