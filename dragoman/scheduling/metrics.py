"""The interface through which the engine's threads report to metrics and traces."""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from dragoman.types import FinishReason, SearchKind


class SegmentOutcome(StrEnum):
    """Why a source left the scheduler."""

    DONE = "done"
    FAILED = "failed"
    """The engine, or a callback of the caller, raised."""
    EXPIRED = "expired"
    """Its deadline passed first."""
    CANCELLED = "cancelled"
    """The caller cancelled it."""


class SegmentRecord(NamedTuple):
    """A source that was queued and has left. Times are on the clock of `time.monotonic`."""

    kind: SearchKind
    ending: SegmentOutcome
    queued_s: float
    """Time at which it was queued."""
    joined_s: float | None
    """Time at which a replica took it, to encode and search; None if none did."""
    left_s: float
    num_source_tokens: int
    num_target_tokens: int = 0
    """Number of tokens of the best hypothesis."""
    finish_reason: FinishReason | None = None
    """Finish reason of the best hypothesis; None unless the source is done."""
    mark: object = None
    """Result of `EngineMetrics.mark` for it."""


class EngineMetrics:
    """An observer of the engine, which records nothing: subclasses record what they need.

    Its methods are called on the engine's threads, several at once, while sources wait for the next step.
    They must take microseconds, must not wait for a lock that is held for longer, and must not raise: that
    would count as an error of the engine and close the translator. They see no text and no ids.
    """

    def trace_context(self) -> object:
        """Return an object to attach to the sources being submitted; called on their caller's thread."""

    def segments_joined(self, kind: SearchKind, waited_s: Sequence[float]) -> None:
        """Record that a replica took sources of one kind, and how long each had waited, in seconds."""

    def first_token(self, after_s: Sequence[float]) -> None:
        """Record the time from submission to first token, in seconds, of some sources."""

    def step_done(self, num_rows: int, num_sources: int, capacity_rows: int, duration_s: float) -> None:
        """Record that a replica made a step in all lanes of a tier; `capacity_rows` is the tier's limit."""

    def segments_left(self, records: Sequence[SegmentRecord]) -> None:
        """Record sources that have left; their callers are notified next."""

    def rejected(self, num_sources: int) -> None:
        """Record the number of sources that were rejected because the queue was full."""

    def cache_hit(self) -> None:
        """Record that a source was found in the segment cache and not searched for."""


NO_METRICS = EngineMetrics()
"""Records nothing."""


class QueueState(NamedTuple):
    """Load of a translator in sources, or of several together."""

    num_waiting: int
    """Submitted sources that wait; `queue_size` limits them."""
    queue_size: int
    num_running: int


def add_queues(queues: Iterable[QueueState]) -> QueueState:
    """Add up the states of several translators."""
    return QueueState(*map(sum, zip((0, 0, 0), *queues, strict=True)))
