"""Choice of the waiting sources that join a running search next, or are encoded together: pure policy.

Sources have two tiers: light ones, of requests and jobs with little to translate, and bulk. Neither takes the
other's last rows. The order within a tier is that of a fair queue (`fair_queue.py`), interactive sources
before jobs. A source that does not fit lets others pass, but after `MAX_PASSED_OVER` admissions nothing of
its tier is admitted before it, so no source waits forever. After as many admissions a job no longer waits
for interactive sources.
"""

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from typing import Generic, NamedTuple, Protocol, TypeVar

from dragoman.scheduling.fair_queue import FairQueue, QueuedSource
from dragoman.types import Priority, SearchKind

MAX_PASSED_OVER = 16
"""Maximum admissions of others before a source goes first."""
LOOK_AHEAD = 256
"""Maximum sources of one priority, in queue order, among which those of similar length are chosen; more where
a replica runs more."""
LOOK_AHEAD_PER_ROW = 4
"""The same limit per free row: with few free rows, few sources are considered."""
PATIENCE_STEPS = 16
"""Maximum steps that sources wait at high load for more free slots."""
WORTHWHILE_SHARE = 4
"""At high load, one source slot in this many must be free before sources join, to encode them in batches."""


LIGHT_TOKENS = 128
"""Maximum source tokens of a request whose segments are light: about five sentences. A job's texts come one
after the other, so that its first ones are light."""
RESERVED_SHARE = 4
"""One in this many rows and sources is reserved for each tier, whatever the other tier fills; one in this
many queued sources is reserved for the light tier."""


class Tier(IntEnum):
    """Class of a source, which decides on its capacity and its turns."""

    LIGHT = 0
    """Of a request or job with little to translate so far, which needs an immediate answer."""
    BULK = 1
    """Of a large request or job, which gets what is left."""


def tier_of(num_tokens: int) -> Tier:
    """Return the tier of a request's next segments, by the source tokens of all of them so far."""
    return Tier.LIGHT if num_tokens <= LIGHT_TOKENS else Tier.BULK


def free_queue_slots(tier: Tier, queue_size: int, num_waiting: int, num_of_owner: int) -> int:
    """Return how many sources of a request may be queued, so that no client fills the queue.

    A quarter of the queue is reserved for light sources. An owner with waiting sources may have half.

    Args:
        tier: tier of the request.
        queue_size: maximum number of waiting sources.
        num_waiting: number of waiting sources.
        num_of_owner: number of the owner's waiting sources; 0 if owners are not known.
    """
    free = queue_size - num_waiting - (queue_size // RESERVED_SHARE if tier is Tier.BULK else 0)
    return min(free, queue_size // 2 - num_of_owner) if num_of_owner else free


class WaitingSource(QueuedSource, Protocol):
    """A waiting source as the policy sees it. Compared by identity."""

    @property
    def kind(self) -> SearchKind: ...
    @property
    def priority(self) -> Priority: ...
    @property
    def tier(self) -> Tier: ...


W = TypeVar("W", bound=WaitingSource)


@dataclass(frozen=True, slots=True)
class Capacity:
    """Limits of one replica."""

    max_rows: int = 128
    """Maximum rows (hypotheses) of a tier. At least the largest beam."""
    max_sources: int = 64
    """Maximum sources of a tier."""
    budget_tokens: int = 8192
    """Maximum source tokens of a lane, with padding: sources times longest. A longer source runs alone."""
    encoder_tokens: int = 256
    """Maximum source tokens encoded together, with padding. More do not fit into a core's cache, and a light
    source waits until the encoder is done."""
    encoder_run_tokens: int = 16
    """Fixed cost of encoding and joining a batch, in source tokens; on a CPU the same for all models."""
    step_rows: int = 8
    """Fixed cost of a step, in rows; encoding costs about as much for each source token."""
    bulk_join_steps: int = 0
    """Minimum steps of bulk sources between two joins of fewer sources than run: more where a join takes as
    long as several steps."""
    max_jobs_with_interactive: int = 1
    """Maximum bulk sources of jobs while interactive ones come: each makes every step longer. At least one,
    so that jobs progress."""
    steps_at_once: int = 1
    """Steps that a lane makes at once even if others wait for its replica: where they take little time."""


class LaneLoad(NamedTuple):
    """The running sources of one kind."""

    num_sources: int
    width: int
    """Tokens of the longest source."""


_EMPTY_LANE = LaneLoad(0, 0)
Load = Mapping[SearchKind, LaneLoad]
"""Running sources of a tier on a replica."""


class OtherTierLoad(NamedTuple):
    """Running rows and sources of the other tier on a replica."""

    num_rows: int = 0
    num_sources: int = 0

    def plus(self, beam_sizes: Iterable[int]) -> "OtherTierLoad":
        """Add sources with these beam sizes."""
        sizes = tuple(beam_sizes)
        return OtherTierLoad(self.num_rows + sum(sizes), self.num_sources + len(sizes))


NO_LOAD = OtherTierLoad()


def is_time_to_join(
    tier: Tier, num_waiting: int, num_running: int, capacity: Capacity, steps_since_join: int
) -> bool:
    """Return whether to look for sources of a tier to admit now.

    At low load, always, but for a few bulk sources where joins take long. At high load, only when several
    slots are free or after a few steps, so that the encoder runs for batches and not for every single slot.
    """
    num_free = capacity.max_sources - num_running
    if not num_waiting or not num_running:
        return bool(num_waiting)
    if tier is Tier.BULK and num_waiting < num_running and steps_since_join < capacity.bulk_join_steps:
        return False
    if num_waiting <= num_free or num_free * WORTHWHILE_SHARE >= capacity.max_sources:
        return True
    return num_free > 0 and steps_since_join >= PATIENCE_STEPS


def fair_share(num_waiting: int, running: Sequence[int], replica: int) -> int:
    """Return how many sources a replica may take so that none is idle while another has several.

    Args:
        num_waiting: number of waiting sources.
        running: number of sources on each replica.
        replica: index into `running`.
    """
    return -(-(num_waiting + sum(running)) // len(running)) - running[replica]


class WaitingList(Generic[W]):
    """Waiting sources, and the choice among them. Not thread-safe."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._num_admissions = dict.fromkeys(Tier, 0)
        self.num_arrivals = 0
        """Number of times that sources were added."""
        self._queues: dict[tuple[Tier, Priority], FairQueue[W]] = {
            (tier, priority): FairQueue() for tier in Tier for priority in Priority
        }
        self._admissions_before: dict[
            W, tuple[int, int]
        ] = {}  # of a job: its arrival number, and admissions before it
        self._passed_over: dict[W, int] = {}  # how often the next source did not fit
        self.next_deadline_s = math.inf
        """Lower bound of the deadlines of all waiting sources."""

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    def num_waiting(self, tier: Tier) -> int:
        """Count the waiting sources of a tier."""
        return sum(len(queue) for (of_tier, _), queue in self._queues.items() if of_tier is tier)

    def num_of(self, owner: Hashable) -> int:
        """Count the sources of an owner."""
        return sum(queue.num_of(owner) for queue in self._queues.values())

    @property
    def has_jobs(self) -> bool:
        """Return whether a source of a job waits."""
        return bool(self._admissions_before)

    def add(self, sources: Sequence[W]) -> None:
        """Queue sources of one request, tier and priority, after all others of the request."""
        tier, priority = sources[0].tier, sources[0].priority
        self._queues[tier, priority].add(sources)
        if priority is Priority.JOB:
            arrival = (self.num_arrivals, self._num_admissions[tier])
            self._admissions_before |= dict.fromkeys(sources, arrival)
        self.num_arrivals += 1
        self.next_deadline_s = min(self.next_deadline_s, sources[0].deadline_s)

    def remove(self, source: W) -> bool:
        """Remove a source; return whether it was waiting."""
        self._admissions_before.pop(source, None)
        self._passed_over.pop(source, None)
        return self._queues[source.tier, source.priority].remove(source)

    def clear(self) -> list[W]:
        """Remove and return all sources."""
        removed = self._all()
        for source in removed:
            self.remove(source)
        return removed

    def expire(self, now_s: float) -> list[W]:
        """Remove and return the sources whose deadline has passed."""
        if now_s < self.next_deadline_s:
            return []
        waiting = self._all()
        expired = [source for source in waiting if source.deadline_s <= now_s]
        for source in expired:
            self.remove(source)
        later = (source.deadline_s for source in waiting if source.deadline_s > now_s)
        self.next_deadline_s = min(later, default=math.inf)
        return expired

    def admit(
        self,
        tier: Tier,
        load: Load,
        most: int,
        most_jobs: float = math.inf,
        other_load: OtherTierLoad = NO_LOAD,
    ) -> list[W]:
        """Remove and return the sources of a tier that join next.

        Args:
            tier: tier to admit from.
            load: running sources of the tier.
            most: maximum number of sources.
            most_jobs: maximum number of sources of jobs among them.
            other_load: load of the other tier.

        Returns:
            Sources that fit; may be empty.
        """
        free = _FreeCapacity(self._capacity, load, most, most_jobs, other_load)
        most_considered = max(LOOK_AHEAD, self._capacity.max_sources)
        considered = max(0, min(most_considered, free.free_rows * LOOK_AHEAD_PER_ROW))
        groups = {
            priority: list(islice(self._queues[tier, priority].in_order(), considered))
            for priority in Priority
        }
        admitted: list[W] = []
        for source in self._overdue(groups):
            if free.is_blocked(source):
                continue
            if not free.has_capacity_for(source):
                break
            admitted.append(free.take(source))
        else:
            urgent = set(admitted)
            for group in groups.values():
                admitted += _choose([source for source in group if source not in urgent], free)
        for priority in Priority:
            self._queues[tier, priority].take([one for one in admitted if one.priority is priority])
        for source in admitted:
            self._admissions_before.pop(source, None)
            self._passed_over.pop(source, None)
        if admitted:
            self._num_admissions[tier] += 1
            for source in groups[Priority.INTERACTIVE][:1]:
                if source not in admitted:
                    self._passed_over[source] = self._passed_over.get(source, 0) + 1
        return admitted

    def _all(self) -> list[W]:
        """Return every source; those of a request in order of arrival."""
        return [source for queue in self._queues.values() for source in queue]

    def _overdue(self, groups: Mapping[Priority, Sequence[W]]) -> Iterator[W]:
        """Yield sources that go before all others: one that was next for too long, then passed-over jobs."""
        for source in groups[Priority.INTERACTIVE][:1]:
            if self._passed_over.get(source, 0) >= MAX_PASSED_OVER:
                yield source
        before = self._admissions_before
        late = [
            source
            for source in groups[Priority.JOB]
            if self._num_admissions[source.tier] - before[source][1] >= MAX_PASSED_OVER
        ]
        yield from sorted(late, key=lambda source: before[source][0])


class _FreeCapacity:
    """Free capacity of a replica for a tier while sources are chosen."""

    def __init__(
        self, capacity: Capacity, load: Load, most: int, most_jobs: float, other_load: OtherTierLoad
    ) -> None:
        self._budget_tokens = capacity.budget_tokens
        self.lanes = dict(load)
        self._num_sources = sum(lane.num_sources for lane in load.values())
        self._most_jobs = most_jobs
        limits = (capacity.max_rows, capacity.max_sources)
        free_rows, free_sources = (
            min(limit, limit + limit // RESERVED_SHARE - other)
            for limit, other in zip(limits, other_load, strict=True)
        )
        if not self._num_sources:
            # A tier without sources always has capacity for one, whatever the other tier runs.
            free_rows, free_sources = max(1, free_rows), max(1, free_sources)
        self.free_rows = free_rows - sum(kind.beam_size * lane.num_sources for kind, lane in load.items())
        self.most = min(most, free_sources - self._num_sources)

    def is_blocked(self, source: WaitingSource) -> bool:
        return source.priority is Priority.JOB and self._most_jobs < 1

    def has_capacity_for(self, source: WaitingSource) -> bool:
        if self.most < 1 or self.is_blocked(source):
            return False
        if not self._num_sources:
            return True
        lane = self.lanes.get(source.kind, _EMPTY_LANE)
        padded = (lane.num_sources + 1) * max(lane.width, source.num_tokens)
        return source.kind.beam_size <= self.free_rows and (
            not lane.num_sources or padded <= self._budget_tokens
        )

    def take(self, source: W) -> W:
        num_sources, width = self.lanes.get(source.kind, _EMPTY_LANE)
        self.lanes[source.kind] = LaneLoad(num_sources + 1, max(width, source.num_tokens))
        self.free_rows -= source.kind.beam_size
        self._num_sources += 1
        self.most -= 1
        self._most_jobs -= source.priority is Priority.JOB
        return source


def _choose(group: Iterable[W], free: _FreeCapacity) -> list[W]:
    """Choose the first source of a group, then those that widen no lane, then those that widen it least."""
    chosen: list[W] = []
    wide: list[W] = []
    for source in group:
        if free.most < 1 or free.free_rows < 1:
            return chosen
        if chosen and source.num_tokens > free.lanes.get(source.kind, _EMPTY_LANE).width:
            wide.append(source)
        elif free.has_capacity_for(source):
            chosen.append(free.take(source))
    narrowest_first = sorted(wide, key=lambda source: source.num_tokens)
    return chosen + [free.take(source) for source in narrowest_first if free.has_capacity_for(source)]
