"""What job workers do: when each loop was last seen, restarts, and how jobs and webhooks ended.

Counts are written on the event loop; other threads may read them.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from service.telemetry.counters import Counts

HEARTBEAT_S = 60.0
"""Within which a loop gives its next heartbeat where it says nothing else."""


@dataclass(slots=True)
class WorkerCounters:
    """Heartbeats and counts of one process. Labels are the server's own words."""

    monotonic: Callable[[], float] = time.monotonic
    """Seconds."""
    restarts: Counts = field(default_factory=Counts)
    """By loop: how often it failed and was started again."""
    jobs: Counts = field(default_factory=Counts)
    """Jobs that ended in this process, by state."""
    webhooks: Counts = field(default_factory=Counts)
    """Tries to deliver, by outcome."""
    _beats: dict[str, tuple[float, float]] = field(default_factory=dict)

    def beat(self, worker: str, next_within_s: float = HEARTBEAT_S) -> None:
        """Note that a loop is alive. Any thread may do so.

        Args:
            worker: name of the loop.
            next_within_s: after which it counts as silent.
        """
        now_s = self.monotonic()
        self._beats[worker] = (now_s, now_s + next_within_s)

    def ages_s(self) -> dict[str, float]:
        """Seconds since the last heartbeat of each loop."""
        now_s = self.monotonic()
        return {worker: now_s - last_s for worker, (last_s, _) in self._beats.copy().items()}

    def silent(self) -> dict[str, float]:
        """The same of the loops whose next heartbeat is overdue."""
        now_s, ages_s = self.monotonic(), self.ages_s()
        return {worker: ages_s[worker] for worker, (_, due_s) in self._beats.copy().items() if due_s < now_s}
