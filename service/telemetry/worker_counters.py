"""Counters of job workers: heartbeats and restarts of each loop, and outcomes of jobs and webhooks.

Counts are written on the event loop; other threads may read them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from service.telemetry.counters import LabeledCounter

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
    webhooks: LabeledCounter = field(default_factory=LabeledCounter)
    """Delivery attempts of webhooks, by outcome."""
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
