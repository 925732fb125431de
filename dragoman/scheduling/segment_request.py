"""A source to search for, as the scheduler and its replicas see it."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dragoman.decoding.strategy import Source
from dragoman.errors import DeadlineExceeded
from dragoman.scheduling.deadline import NO_DEADLINE, Deadline
from dragoman.scheduling.fair_queue import Flow
from dragoman.scheduling.metrics import SegmentOutcome, SegmentRecord
from dragoman.scheduling.policy import Tier
from dragoman.types import Hypothesis, Priority, SearchKind

Outcome = list[Hypothesis] | Exception


def _notify_nobody(_outcome: Outcome) -> None: ...


@dataclass(slots=True, eq=False, kw_only=True)
class SegmentRequest(Source):
    """A source to search for, and whom to notify: all that is kept for a segment. Compared by identity."""

    kind: SearchKind
    priority: Priority = Priority.INTERACTIVE
    on_done: Callable[[Outcome], object] = _notify_nobody
    """Called once with the outcome, on a thread of the engine, unless cancelled first; must be quick."""
    flow: Flow = field(default_factory=Flow)
    """The client request that the source is part of."""
    deadline: Deadline = NO_DEADLINE
    cached: list[Hypothesis] | None = None
    """Its hypotheses if they are known: it is not scheduled."""
    on_step: Callable[[list[int]], None] | None = None
    """Called after each step with the target ids so far of the best hypothesis. What it raises fails the
    source."""
    tier: Tier = Tier.LIGHT
    """Set by the scheduler when the source is queued."""
    is_limited: bool = False
    """Whether it counts towards the queue size."""
    is_cancelled: bool = False
    num_reported: int = 0
    """Number of ids in the last call of `on_step`, so that a source that is searched again repeats none."""
    queued_s: float = 0.0
    """Time at which it was queued, on the clock of `time.monotonic`."""
    joined_s: float | None = None
    """Time at which a replica took it."""
    mark: object = None
    """See `EngineMetrics.mark`."""
    num_tokens: int = field(init=False)
    """Number of source tokens."""

    def __post_init__(self) -> None:
        Source.__post_init__(self)
        self.num_tokens = len(self.ids)

    @property
    def deadline_s(self) -> float:
        return self.deadline.at_s

    def finish(self, outcome: Outcome) -> None:
        """Call `on_done`, unless cancelled."""
        if not self.is_cancelled:
            self.on_done(outcome)

    def record(self, outcome: Outcome | None) -> SegmentRecord:
        """Return the record for metrics of a source that leaves; without an outcome it was cancelled."""
        best = outcome[0] if isinstance(outcome, list) and outcome else None
        ending = SegmentOutcome.DONE
        if outcome is None or self.is_cancelled:
            ending = SegmentOutcome.CANCELLED
        elif isinstance(outcome, DeadlineExceeded):
            ending = SegmentOutcome.EXPIRED
        elif isinstance(outcome, Exception):
            ending = SegmentOutcome.FAILED
        num_tokens, reason = (0, None) if best is None else (best.num_tokens, best.finish_reason)
        times_s = self.queued_s, self.joined_s, time.monotonic()
        return SegmentRecord(self.kind, ending, *times_s, self.num_tokens, num_tokens, reason, self.mark)
