"""Which waiting sources join a running search next, and which are encoded together: pure policy.

The order is: overdue sources by arrival, then interactive ones, then jobs, the last two by deadline and then
by arrival. A source is overdue when others were admitted `MAX_PASSED_OVER` times while it waited; nothing is
admitted before the first overdue source, so no source waits for ever.
"""

import math
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, Protocol, TypeVar

from dragoman.contract import padded_width
from dragoman.types import Priority, SearchKind

MAX_PASSED_OVER = 16
"""Admissions that a source may see go to others before it goes first."""
LOOK_AHEAD = 256
"""Sources of a priority, the longest waiting ones, among which those of like length are looked for."""
PATIENCE_STEPS = 16
"""Steps after which a few free places are filled, when more would fill them all."""
WORTHWHILE_SHARE = 4
"""One place in so many must be free before sources join at high load: the encoder is for batches."""


RUN_TOKENS = 16
"""A run of the encoder costs as much besides as this many source tokens, for small and large models alike."""


class Waiting(Protocol):
    """What the policy knows of a source that waits. Compared by identity."""

    @property
    def num_tokens(self) -> int: ...
    @property
    def kind(self) -> SearchKind: ...
    @property
    def priority(self) -> Priority: ...
    @property
    def deadline_s(self) -> float:
        """On the clock that `expire` is given; infinity for none."""
        ...


W = TypeVar("W", bound=Waiting)


@dataclass(frozen=True, slots=True)
class Capacity:
    """What one replica takes at once."""

    max_rows: int = 128
    """Hypotheses. At least the largest beam."""
    max_sources: int = 64
    budget_tokens: int = 8192
    """Source tokens of a lane, padding included: sources times the longest. A longer source runs alone."""
    encoder_tokens: int = 512
    """Source tokens encoded together, padding included: more of them no longer fit into a core's cache."""
    max_jobs_beside: int = 1
    """Sources of jobs while interactive ones come: each makes every step longer. Not below one, so that jobs
    go on."""


@dataclass(frozen=True, slots=True)
class LaneLoad:
    """The sources of one kind that run."""

    num_sources: int
    width: int
    """Tokens of the longest."""


Load = Mapping[SearchKind, LaneLoad]
"""What runs on a replica."""


def is_time_to_join(num_waiting: int, num_running: int, capacity: Capacity, steps_since_join: int) -> bool:
    """Whether to look for sources to admit now.

    At low load at once. At high load only when several places are free, or after a few steps, so that the
    encoder runs for batches and not for every place that falls free.
    """
    num_free = capacity.max_sources - num_running
    if not num_waiting or not num_running:
        return bool(num_waiting)
    if num_waiting <= num_free or num_free * WORTHWHILE_SHARE >= capacity.max_sources:
        return True
    return num_free > 0 and steps_since_join >= PATIENCE_STEPS


def fair_share(num_waiting: int, running: Sequence[int], replica: int) -> int:
    """Most sources that a replica may take so that none is idle while another has several.

    Args:
        num_waiting: sources.
        running: sources on each replica.
        replica: index into `running`.
    """
    return -(-(num_waiting + sum(running)) // len(running)) - running[replica]


def encoder_batches(lengths: Sequence[int], budget_tokens: int) -> list[list[int]]:
    """Group sources of like length, so that runs of the encoder and padding together cost least.

    A batch is a rectangle, as wide as its longest source padded (`padded_width`), and a run costs
    `RUN_TOKENS` besides. Some best grouping takes sources in order of length, so one pass over the places to
    cut finds it.

    Args:
        lengths: tokens of each source.
        budget_tokens: most tokens of a batch, padding included; a source longer than that is alone.

    Returns:
        Batches of indices into `lengths`: each index once, longest first.
    """
    order = sorted(range(len(lengths)), key=lambda index: -lengths[index])
    widths = [padded_width(lengths[index]) for index in order]
    costs = [0.0] + [math.inf] * len(order)  # of the longest sources, as many as the index says
    begins = [0] * (len(order) + 1)  # where the last batch of them begins
    for begin, width in enumerate(widths):
        most = min(len(order), begin + max(1, budget_tokens // width))
        base = costs[begin] + RUN_TOKENS
        for end in range(begin + 1, most + 1):
            cost = base + width * (end - begin)
            if cost < costs[end]:
                costs[end], begins[end] = cost, begin
    batches: list[list[int]] = []
    end = len(order)
    while end:
        batches.append(order[begins[end] : end])
        end = begins[end]
    return batches[::-1]


class WaitingList(Generic[W]):
    """Sources that wait, and the choice among them. Not for several threads at once."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self._num_admissions = 0
        self.num_arrivals = 0
        # By priority: each source with its number of arrival and the admissions made before it came.
        self._entries: dict[Priority, OrderedDict[W, tuple[int, int]]] = {
            priority: OrderedDict() for priority in Priority
        }
        self._next_deadline_s = math.inf

    def __len__(self) -> int:
        return sum(map(len, self._entries.values()))

    @property
    def has_jobs(self) -> bool:
        """Whether a source of a job waits."""
        return bool(self._entries[Priority.JOB])

    @property
    def next_deadline_s(self) -> float:
        """No deadline of a source that waits is before this."""
        return self._next_deadline_s

    def add(self, source: W) -> None:
        """Let a source wait, after all of its priority."""
        self._entries[source.priority][source] = (self.num_arrivals, self._num_admissions)
        self.num_arrivals += 1
        self._next_deadline_s = min(self._next_deadline_s, source.deadline_s)

    def remove(self, source: W) -> bool:
        """Forget a source; whether it was waiting."""
        return self._entries[source.priority].pop(source, None) is not None

    def clear(self) -> list[W]:
        """Take out all."""
        removed = [source for entries in self._entries.values() for source in entries]
        for entries in self._entries.values():
            entries.clear()
        return removed

    def expire(self, now_s: float) -> list[W]:
        """Take out the sources whose deadline has come."""
        if now_s < self._next_deadline_s:
            return []
        waiting = [source for entries in self._entries.values() for source in entries]
        expired = [source for source in waiting if source.deadline_s <= now_s]
        for source in expired:
            self.remove(source)
        later = (source.deadline_s for source in waiting if source.deadline_s > now_s)
        self._next_deadline_s = min(later, default=math.inf)
        return expired

    def admit(self, load: Load, most: int, most_jobs: float = math.inf) -> list[W]:
        """Take out the sources that join next.

        Args:
            load: what runs.
            most: sources to take at most.
            most_jobs: of these, sources of jobs.

        Returns:
            Sources for which there is room; perhaps none.
        """
        room = _Room(self._capacity, load, most, most_jobs)
        admitted: list[W] = []
        overdue, *by_priority = self._in_order()
        for source in overdue:
            if room.bars(source):
                continue
            if not room.has_room(source):
                break
            admitted.append(room.take(source))
        else:
            for group in by_priority:
                admitted += _choose(group, room)
        for source in admitted:
            self.remove(source)
        self._num_admissions += bool(admitted)
        return admitted

    def _in_order(self) -> tuple[list[W], list[W], list[W]]:
        """Overdue sources, interactive ones and jobs, each in its order."""
        overdue: list[tuple[int, W]] = []
        groups: dict[Priority, list[W]] = {}
        for priority, entries in self._entries.items():
            considered = list(islice(entries.items(), LOOK_AHEAD))
            is_late = [self._num_admissions - before >= MAX_PASSED_OVER for _, (_, before) in considered]
            overdue += [
                (arrival, source)
                for (source, (arrival, _)), late in zip(considered, is_late, strict=True)
                if late
            ]
            others = [source for (source, _), late in zip(considered, is_late, strict=True) if not late]
            groups[priority] = sorted(others, key=lambda source: source.deadline_s)
        overdue.sort(key=lambda entry: entry[0])
        return [source for _, source in overdue], groups[Priority.INTERACTIVE], groups[Priority.JOB]


@dataclass(slots=True)
class _Room:
    """What is still free on a replica while sources are chosen."""

    capacity: Capacity
    load: Load
    most: int
    most_jobs: float
    lanes: dict[SearchKind, LaneLoad] = field(init=False)
    num_rows: int = field(init=False)
    num_sources: int = field(init=False)

    def __post_init__(self) -> None:
        self.lanes = dict(self.load)
        self.num_rows = sum(kind.beam_size * lane.num_sources for kind, lane in self.lanes.items())
        self.num_sources = sum(lane.num_sources for lane in self.lanes.values())
        self.most = min(self.most, self.capacity.max_sources - self.num_sources)

    def bars(self, source: Waiting) -> bool:
        return source.priority is Priority.JOB and self.most_jobs < 1

    def has_room(self, source: Waiting) -> bool:
        if (
            self.most < 1
            or self.bars(source)
            or self.num_rows + source.kind.beam_size > self.capacity.max_rows
        ):
            return False
        lane = self._lane(source)
        padded = (lane.num_sources + 1) * max(lane.width, source.num_tokens)
        return not lane.num_sources or padded <= self.capacity.budget_tokens

    def is_widened_by(self, source: Waiting) -> bool:
        return source.num_tokens > self._lane(source).width

    def take(self, source: W) -> W:
        lane = self._lane(source)
        self.lanes[source.kind] = LaneLoad(lane.num_sources + 1, max(lane.width, source.num_tokens))
        self.num_rows += source.kind.beam_size
        self.most -= 1
        self.most_jobs -= source.priority is Priority.JOB
        return source

    def _lane(self, source: Waiting) -> LaneLoad:
        return self.lanes.get(source.kind, LaneLoad(0, 0))


def _choose(group: Iterable[W], room: _Room) -> list[W]:
    """The first of a group; then those that make no lane wider; then those that widen it least."""
    chosen: list[W] = []
    wide: list[W] = []
    for source in group:
        if room.most < 1:
            return chosen
        if chosen and room.is_widened_by(source):
            wide.append(source)
        elif room.has_room(source):
            chosen.append(room.take(source))
    narrowest_first = sorted(wide, key=lambda source: source.num_tokens)
    return chosen + [room.take(source) for source in narrowest_first if room.has_room(source)]
