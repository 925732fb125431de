"""One replica: its lanes, and the sources that run in them. The scheduler's threads call it.

Light sources and bulk have their own lanes, which take turns: a step with few rows takes a fraction of the
time of a step with many, so light sources do not wait for bulk.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import c_int64
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dragoman.decoding.loop import ONE_STEP, AnyLane, StepLimit
from dragoman.decoding.strategy import Source
from dragoman.errors import DeadlineExceeded
from dragoman.scheduling.encoder_batches import encoder_batches
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics
from dragoman.scheduling.policy import Capacity, LaneLoad, Load, OtherTierLoad, Tier, is_time_to_join
from dragoman.scheduling.segment_request import Outcome, SegmentRequest
from dragoman.scheduling.tier_turns import TierScheduler
from dragoman.types import Method, Priority, SearchKind

MAX_IDLE_LANES = 2
"""Maximum number of empty lanes whose memory is kept for the next sources of their kind."""
MAX_TIME_S = 0.1
"""Longest time in seconds that steps are made without a look at what else there is to do."""
FORCED_METHODS = (Method.SCORE, Method.ALIGN)
"""Methods of forced decoding, which search for no token."""

Encoded = TypeVar("Encoded")


@dataclass(slots=True, eq=False)
class _TierWork(Generic[Encoded]):
    """The work of a replica for one tier."""

    lanes: dict[SearchKind, AnyLane[Encoded]] = field(default_factory=dict)
    apart: list[AnyLane[Encoded]] = field(default_factory=list)
    """Lanes of one source each, which may have made a step fail."""
    to_encode: deque[list[SegmentRequest]] = field(default_factory=deque)
    """Batches that have joined and are encoded next, one in a turn; the longest source of each first."""
    beginning: list[SegmentRequest] = field(default_factory=list)
    """Requests that have made no step yet."""
    steps_since_join: int = 0
    num_sources: int = 0

    def all_lanes(self) -> Iterator[AnyLane[Encoded]]:
        return (lane for lanes in (self.lanes.values(), self.apart) for lane in lanes)

    def num_rows(self) -> int:
        """Return the number of rows in lanes."""
        return sum(len(lane.sources) * lane.kind.beam_size for lane in self.all_lanes())

    def next_cost(self, step_rows: int) -> int:
        """Return the cost of the next turn; 0 for none. A step costs `step_rows` more than its rows."""
        if self.to_encode:
            batch = self.to_encode[0]
            return len(batch) * batch[0].num_tokens
        return step_rows + self.num_rows() if self.num_sources else 0

    def load(self) -> Load:
        """Return the load of what runs or is encoded next."""
        loads: dict[SearchKind, LaneLoad] = {}

        def add(kind: SearchKind, lengths: Sequence[int]) -> None:
            before = loads.get(kind, LaneLoad(0, 0))
            width = max(lengths, default=0)
            loads[kind] = LaneLoad(before.num_sources + len(lengths), max(before.width, width))

        for lane in self.all_lanes():
            add(lane.kind, [len(source.ids) for source in lane.sources])
        for batch in self.to_encode:
            add(batch[0].kind, [request.num_tokens for request in batch])
        return loads

    def drop(self, requests: Sequence[SegmentRequest]) -> None:
        """Remove sources, if they are here."""
        leaving = set(requests)
        for lane in self.all_lanes():
            lane.remove(leaving)
        remaining = ([one for one in batch if one not in leaving] for batch in self.to_encode)
        self.to_encode = deque(batch for batch in remaining if batch)


class Replica(Generic[Encoded]):
    """Searches for the sources that joined it, in one lane for each kind of search. Not thread-safe."""

    def __init__(
        self,
        encode: Callable[[Sequence[Sequence[int]]], Encoded],
        open_lane: Callable[[SearchKind], AnyLane[Encoded]],
        capacity: Capacity,
        engine_metrics: EngineMetrics = NO_METRICS,
    ) -> None:
        self._encode = encode
        self._open_lane = open_lane
        self._capacity = capacity
        self._engine_metrics = engine_metrics
        self._work: dict[Tier, _TierWork[Encoded]] = {tier: _TierWork() for tier in Tier}
        self._turns = TierScheduler()
        self._requests = dict[Source, SegmentRequest]()
        self._next_deadline_s = math.inf
        self._num_watched = 0
        self._num_cancels_seen = 0
        self.rejected_at = -1
        """Number of arrivals when no source fitted: none does until there are more, or a source has left
        here."""

    @property
    def num_sources(self) -> int:
        """Number of sources that run here."""
        return len(self._requests)

    def num_sources_of(self, tier: Tier) -> int:
        """Return the number of sources of a tier that run here."""
        return self._work[tier].num_sources

    def num_jobs_of(self, tier: Tier) -> int:
        """Return the number of a tier's sources of jobs that run here."""
        return sum(
            request.priority is Priority.JOB and request.tier is tier for request in self._requests.values()
        )

    def load(self, tier: Tier) -> Load:
        """Return the load of a tier."""
        return self._work[tier].load()

    def other_load(self, tier: Tier) -> OtherTierLoad:
        """Return the load of the other tier."""
        load = self._work[Tier.BULK if tier is Tier.LIGHT else Tier.LIGHT].load()
        num_rows = sum(kind.beam_size * lane.num_sources for kind, lane in load.items())
        return OtherTierLoad(num_rows, sum(lane.num_sources for lane in load.values()))

    def wants_more(self, tier: Tier, num_waiting: int) -> bool:
        """Return whether it is time to admit sources of a tier, `num_waiting` of which wait."""
        work = self._work[tier]
        return is_time_to_join(tier, num_waiting, work.num_sources, self._capacity, work.steps_since_join)

    def join(self, requests: Sequence[SegmentRequest]) -> None:
        """Add sources, to encode and to search in the next turns."""
        by_kind: dict[tuple[Tier, SearchKind], list[SegmentRequest]] = {}
        now_s = time.monotonic()
        for request in requests:
            request.joined_s = now_s
            self._num_watched += request.on_step is not None
            self._next_deadline_s = min(self._next_deadline_s, request.deadline_s)
            by_kind.setdefault((request.tier, request.kind), []).append(request)
        for (tier, kind), group in by_kind.items():
            work, capacity = self._work[tier], self._capacity
            self._requests |= zip(group, group, strict=True)
            work.num_sources += len(group)
            work.steps_since_join = 0
            self._engine_metrics.segments_joined(kind, [now_s - request.queued_s for request in group])
            if kind.method not in FORCED_METHODS:
                work.beginning += group
            lengths = [request.num_tokens for request in group]
            batches = encoder_batches(lengths, capacity.encoder_tokens, capacity.encoder_run_tokens)
            work.to_encode += ([group[index] for index in batch] for batch in batches)

    def step(self, counter: c_int64 | None = None, count: int = 0) -> None:
        """Do one turn: encode sources that have joined, or make a step in the lanes of a tier.

        Finished sources are delivered; a source that cannot be encoded fails alone.

        Args:
            counter: if given, it may make more steps until another thread changes this, or a source is done.
            count: its value until then.
        """
        step_rows = self._capacity.step_rows
        tier = self._turns.next(*(self._work[tier].next_cost(step_rows) for tier in (Tier.LIGHT, Tier.BULK)))
        work = self._work[tier]
        if work.to_encode:
            self._join_together(work, work.to_encode.popleft())
        else:
            self._step_lanes(work, counter, count)

    def _step_lanes(self, work: _TierWork[Encoded], counter: c_int64 | None, count: int) -> None:
        work.steps_since_join += 1
        began_s, num_sources, num_rows = time.monotonic(), work.num_sources, work.num_rows()
        beginning = [request for request in work.beginning if request in self._requests]
        work.beginning.clear()
        lanes = [lane for lane in work.all_lanes() if lane.sources]
        limit = ONE_STEP
        if not (beginning or self._num_watched):
            is_alone = len(lanes) == 1 and work.num_sources == self.num_sources and not work.to_encode
            time_s = min(MAX_TIME_S, self._next_deadline_s - began_s)
            limit = StepLimit(self._capacity.steps_at_once, counter if is_alone else None, count, time_s)
        for lane in lanes:
            self._step(work, lane, limit)
        ended_s = time.monotonic()
        num_steps = max((lane.num_steps for lane in lanes), default=1)
        if beginning:
            self._engine_metrics.first_token([ended_s - request.queued_s for request in beginning])
        capacity_rows, step_s = self._capacity.max_rows, (ended_s - began_s) / num_steps
        for _ in range(num_steps):
            self._engine_metrics.step_done(num_rows, num_sources, capacity_rows, step_s)
        work.apart = [lane for lane in work.apart if lane.sources]
        idle = [kind for kind, lane in work.lanes.items() if not lane.sources]
        for kind in idle[:-MAX_IDLE_LANES]:
            del work.lanes[kind]

    def drop_cancelled(self, num_cancels: int) -> None:
        """Drop the sources that were cancelled, or whose deadline has come.

        Args:
            num_cancels: another number than at the last call if any was cancelled.
        """
        if num_cancels != self._num_cancels_seen:
            self._num_cancels_seen = num_cancels
            cancelled = [request for request in self._requests.values() if request.is_cancelled]
            self._drop(cancelled)
            if cancelled:
                self._engine_metrics.segments_left([request.record(None) for request in cancelled])
        if self._next_deadline_s < math.inf and (now_s := time.monotonic()) >= self._next_deadline_s:
            late = [request for request in self._requests.values() if request.deadline_s <= now_s]
            self._drop(late)
            self._deliver([(request, DeadlineExceeded(request.deadline.timeout_s)) for request in late])
            remaining = (request.deadline_s for request in self._requests.values())
            self._next_deadline_s = min(remaining, default=math.inf)

    def release(self) -> list[SegmentRequest]:
        """Remove and return all requests that run here."""
        requests = list(self._requests.values())
        self._work = {tier: _TierWork() for tier in Tier}
        self._requests.clear()
        return requests

    def _join_together(self, work: _TierWork[Encoded], requests: Sequence[SegmentRequest]) -> None:
        try:
            encoded = self._encode([request.ids for request in requests])
        except Exception as error:  # noqa: BLE001 -- the callers concerned get it
            self._join_apart(work, requests, error)
            return
        kind = requests[0].kind
        lane = work.lanes.get(kind)
        if lane is None:
            lane = work.lanes[kind] = self._open_lane(kind)
        self._enter(work, lane, requests, encoded)

    def _join_apart(
        self, work: _TierWork[Encoded], requests: Sequence[SegmentRequest], error: Exception
    ) -> None:
        """Begin each request again in its own lane, after an error whose cause is one of them."""
        if len(requests) == 1:
            self._deliver([(requests[0], error)])
            return
        for request in requests:
            try:
                encoded = self._encode([request.ids])
            except Exception as own_error:  # noqa: BLE001 -- the same
                self._deliver([(request, own_error)])
                continue
            lane = self._open_lane(request.kind)
            work.apart.append(lane)
            self._enter(work, lane, [request], encoded)

    def _enter(
        self,
        work: _TierWork[Encoded],
        lane: AnyLane[Encoded],
        requests: Sequence[SegmentRequest],
        encoded: Encoded,
    ) -> None:
        try:
            lane.join(requests, encoded)
        except Exception as error:  # noqa: BLE001 -- the same; most likely there is no memory
            there = [self._requests[source] for source in lane.sources]
            self._break_up(work, lane, list(dict.fromkeys([*there, *requests])), error)

    def _step(self, work: _TierWork[Encoded], lane: AnyLane[Encoded], limit: StepLimit) -> None:
        try:
            found = lane.step(limit)
        except Exception as error:  # noqa: BLE001 -- the same
            self._break_up(work, lane, [self._requests[source] for source in lane.sources], error)
            return
        self._deliver([(self._requests[one.source], one.error or one.hypotheses) for one in found])
        if self._num_watched:
            self._report(lane)

    def _break_up(
        self,
        work: _TierWork[Encoded],
        lane: AnyLane[Encoded],
        requests: Sequence[SegmentRequest],
        error: Exception,
    ) -> None:
        """Begin the sources of a failed step again, each alone, so that only the one at fault fails.

        Their hypotheses stay the same, since they do not depend on the other sources of a batch.
        """
        if work.lanes.get(lane.kind) is lane:
            del work.lanes[lane.kind]
        else:
            work.apart = [other for other in work.apart if other is not lane]
        self._join_apart(work, requests, error)

    def _report(self, lane: AnyLane[Encoded]) -> None:
        """Call `on_step` of the requests that have it."""
        faults: list[tuple[SegmentRequest, Exception]] = []
        for slot, source in enumerate(lane.sources):
            request = self._requests[source]
            if request.on_step is None or request.is_cancelled:
                continue
            ids = lane.best_ids(slot)
            if len(ids) <= request.num_reported:
                continue
            request.num_reported = len(ids)
            try:
                request.on_step(ids)
            except Exception as fault:  # noqa: BLE001 -- a caller's code: it fails the caller's text
                faults.append((request, fault))
        self._drop([request for request, _ in faults])
        self._deliver(faults)

    def _forget(self, requests: Iterable[SegmentRequest]) -> None:
        self.rejected_at = -1
        for request in requests:
            if self._requests.pop(request, None) is not None:
                self._num_watched -= request.on_step is not None
                self._work[request.tier].num_sources -= 1

    def _deliver(self, outcomes: Sequence[tuple[SegmentRequest, Outcome]]) -> None:
        if not outcomes:
            return
        self._forget(request for request, _ in outcomes)
        if self._engine_metrics is not NO_METRICS:
            self._engine_metrics.segments_left([request.record(outcome) for request, outcome in outcomes])
        for request, outcome in outcomes:
            request.finish(outcome)

    def _drop(self, requests: Sequence[SegmentRequest]) -> None:
        if not requests:
            return
        for work in self._work.values():
            work.drop(requests)
        self._forget(requests)
