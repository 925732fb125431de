"""Who is told what the engine's threads do: for metrics and traces, of which the engine knows nothing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from dragoman.types import FinishReason, SearchKind


class Ending(StrEnum):
    """How a source left."""

    DONE = "done"
    FAILED = "failed"
    """The engine, or a caller's own callback, raised."""
    EXPIRED = "expired"
    """Its deadline came first."""
    CANCELLED = "cancelled"
    """Whoever asked gave it up."""


@dataclass(frozen=True, slots=True)
class SegmentRecord:
    """A source that was let in and has left. Times are on the clock of `time.monotonic`."""

    kind: SearchKind
    ending: Ending
    asked_s: float
    """When it began to wait."""
    joined_s: float | None
    """When a replica took it, to encode it and to search; None if none did."""
    left_s: float
    num_source_tokens: int
    num_target_tokens: int = 0
    """Of the best hypothesis."""
    finish_reason: FinishReason | None = None
    """The best hypothesis's; None unless it is done."""
    mark: object = None
    """What `EngineMetrics.mark` said of it."""


class EngineMetrics(Protocol):
    """An observer of the engine.

    Its methods are called on the engine's threads, several at once, while sources wait for the next step:
    they must take microseconds, must not wait for a lock that is held for longer, and must not raise, as that
    would be a fault of the engine's own and close the translator. They see no text and no ids.
    """

    def mark(self) -> object:
        """What the sources that are asked for just now are to be known by, on their caller's own thread."""
        ...

    def joined(self, kind: SearchKind, waited_s: Sequence[float]) -> None:
        """A replica took sources of one kind, which had waited for so long."""
        ...

    def began(self, after_s: Sequence[float]) -> None:
        """The first token of sources that are searched for was found, so long after they were asked for."""
        ...

    def stepped(self, num_rows: int, num_sources: int, capacity_rows: int, duration_s: float) -> None:
        """A replica made one step in all its lanes, with so many rows of those that it has room for."""
        ...

    def left(self, records: Sequence[SegmentRecord]) -> None:
        """Sources have left, and their callers are told next."""
        ...

    def refused(self, num_sources: int) -> None:
        """So many were not let in, as too many waited."""
        ...

    def found_in_cache(self) -> None:
        """A source was not asked for at all, as what had been found for it was remembered."""
        ...


class NoMetrics:
    """Nobody watches."""

    def mark(self) -> object:
        return None

    def joined(self, kind: SearchKind, waited_s: Sequence[float]) -> None:
        pass

    def began(self, after_s: Sequence[float]) -> None:
        pass

    def stepped(self, num_rows: int, num_sources: int, capacity_rows: int, duration_s: float) -> None:
        pass

    def left(self, records: Sequence[SegmentRecord]) -> None:
        pass

    def refused(self, num_sources: int) -> None:
        pass

    def found_in_cache(self) -> None:
        pass


NO_METRICS = NoMetrics()


@dataclass(frozen=True, slots=True)
class QueueState:
    """How busy a translator is, in sources; or several together."""

    num_waiting: int
    """Those that were submitted: what `queue_size` bounds."""
    queue_size: int
    num_running: int

    @property
    def is_full(self) -> bool:
        """Whether no more are let in. No translator is full that is not there."""
        return 0 < self.queue_size <= self.num_waiting


def add_queues(queues: Iterable[QueueState]) -> QueueState:
    """Of several translators together."""
    states = tuple(queues)
    return QueueState(
        sum(state.num_waiting for state in states),
        sum(state.queue_size for state in states),
        sum(state.num_running for state in states),
    )
