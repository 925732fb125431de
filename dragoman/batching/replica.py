"""One replica: its lanes, and the sources that run in them. No threads here: the scheduler's call it."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from dragoman.batching.meters import NO_METER, Ending, Meter, Passage
from dragoman.batching.policy import Capacity, LaneLoad, Load, encoder_batches, is_time_to_join
from dragoman.decoding.loop import AnyLane
from dragoman.decoding.strategy import Source
from dragoman.errors import DeadlineExceeded
from dragoman.types import Hypothesis, Method, Priority, SearchKind

MAX_IDLE_LANES = 2
"""Lanes without sources whose memory is kept for the next of their kind."""
READINGS = (Method.SCORE, Method.ALIGN)
"""Methods that are given the target, and find no token."""

Encoded = TypeVar("Encoded")
Outcome = list[Hypothesis] | Exception


@dataclass(slots=True, eq=False)
class Ticket:
    """A source on its way through the scheduler, and whom to tell. Compared by identity."""

    source: Source
    kind: SearchKind
    priority: Priority
    on_done: Callable[[Outcome], None]
    """Called once, on a thread of the engine, unless the ticket was cancelled first; must be quick."""
    on_step: Callable[[list[int]], None] | None = None
    """Called after each step with the target ids so far of the best hypothesis. What it raises fails the
    source."""
    deadline_s: float = math.inf
    """On the clock of `time.monotonic`."""
    timeout_s: float = math.inf
    """What the deadline came from, for the error's text."""
    is_fed: bool = False
    is_cancelled: bool = False
    num_reported: int = 0
    """Ids that `on_step` was called with: a source that is searched for again says nothing twice."""
    asked_s: float = 0.0
    """When it began to wait, on the same clock as its deadline."""
    joined_s: float | None = None
    """When a replica took it."""
    mark: object = None
    """A meter's, see `Meter.mark`."""

    @property
    def num_tokens(self) -> int:
        return len(self.source.ids)

    def finish(self, outcome: Outcome) -> None:
        """Tell the outcome."""
        if not self.is_cancelled:
            self.on_done(outcome)

    def passage(self, outcome: Outcome | None) -> Passage:
        """What a meter is told of it now that it leaves; without an outcome it was given up."""
        best = outcome[0] if isinstance(outcome, list) and outcome else None
        return Passage(
            kind=self.kind,
            ending=Ending.CANCELLED if self.is_cancelled else _ending(outcome),
            asked_s=self.asked_s,
            joined_s=self.joined_s,
            left_s=time.monotonic(),
            num_source_tokens=self.num_tokens,
            num_target_tokens=0 if best is None else best.num_tokens,
            finish_reason=None if best is None else best.finish_reason,
            mark=self.mark,
        )


def _ending(outcome: Outcome | None) -> Ending:
    match outcome:
        case None:
            return Ending.CANCELLED
        case DeadlineExceeded():
            return Ending.EXPIRED
        case Exception():
            return Ending.FAILED
        case _:
            return Ending.DONE


class Replica(Generic[Encoded]):
    """Searches for the sources that joined it, in one lane for each kind of search. For one thread."""

    def __init__(
        self,
        encode: Callable[[Sequence[Sequence[int]]], Encoded],
        open_lane: Callable[[SearchKind], AnyLane[Encoded]],
        capacity: Capacity,
        meter: Meter = NO_METER,
    ) -> None:
        self._encode = encode
        self._open_lane = open_lane
        self._capacity = capacity
        self._meter = meter
        self._lanes: dict[SearchKind, AnyLane[Encoded]] = {}
        self._apart: list[AnyLane[Encoded]] = []  # of one source each, which may have made a step fail
        self._tickets: dict[Source, Ticket] = {}
        self._next_deadline_s = math.inf
        self._num_watched = 0
        self._num_cancels_seen = 0
        self._steps_since_join = 0
        self._refused_at = -1
        self._beginning: list[Ticket] = []  # which have made no step yet

    @property
    def num_sources(self) -> int:
        """That run here."""
        return len(self._tickets)

    @property
    def num_jobs(self) -> int:
        """Sources of jobs that run here."""
        return sum(ticket.priority is Priority.JOB for ticket in self._tickets.values())

    def load(self) -> Load:
        """What runs."""
        loads: dict[SearchKind, LaneLoad] = {}
        for lane in (*self._lanes.values(), *self._apart):
            before = loads.get(lane.kind, LaneLoad(0, 0))
            width = max((len(source.ids) for source in lane.sources), default=0)
            loads[lane.kind] = LaneLoad(before.num_sources + len(lane.sources), max(before.width, width))
        return loads

    def wants_more(self, num_waiting: int, num_arrivals: int) -> bool:
        """Whether it is time to look for sources that may join.

        Args:
            num_waiting: sources.
            num_arrivals: sources that ever waited; as long as it stays, those refused are the same ones.
        """
        if num_arrivals == self._refused_at:
            return False
        return is_time_to_join(num_waiting, self.num_sources, self._capacity, self._steps_since_join)

    def refuse(self, num_arrivals: int) -> None:
        """None of those that wait had room: look again when others came, or when one of its own has left."""
        self._refused_at = num_arrivals

    def join(self, tickets: Sequence[Ticket]) -> None:
        """Encode sources and begin to search for them; one that cannot be encoded fails alone."""
        self._steps_since_join = 0
        by_kind: dict[SearchKind, list[Ticket]] = {}
        now_s = time.monotonic()
        for ticket in tickets:
            ticket.joined_s = now_s
            by_kind.setdefault(ticket.kind, []).append(ticket)
        for kind, group in by_kind.items():
            self._meter.joined(kind, [now_s - ticket.asked_s for ticket in group])
            if kind.method not in READINGS:
                self._beginning += group
            lengths = [ticket.num_tokens for ticket in group]
            for batch in encoder_batches(lengths, self._capacity.encoder_tokens):
                self._join_together([group[index] for index in batch])

    def step(self) -> None:
        """One token further in every lane; what is done is handed out."""
        self._steps_since_join += 1
        began_s, num_sources, num_rows = time.monotonic(), self.num_sources, 0
        beginning = [ticket for ticket in self._beginning if ticket.source in self._tickets]
        self._beginning.clear()
        for lane in (*self._lanes.values(), *self._apart):
            if lane.sources:
                num_rows += len(lane.sources) * lane.kind.beam_size
                self._step(lane)
        ended_s = time.monotonic()
        if beginning:
            self._meter.began([ended_s - ticket.asked_s for ticket in beginning])
        self._meter.stepped(num_rows, num_sources, self._capacity.max_rows, ended_s - began_s)
        self._apart = [lane for lane in self._apart if lane.sources]
        idle = [kind for kind, lane in self._lanes.items() if not lane.sources]
        for kind in idle[:-MAX_IDLE_LANES]:
            del self._lanes[kind]

    def give_up(self, num_cancels: int) -> None:
        """Drop the sources that were cancelled, or whose deadline has come.

        Args:
            num_cancels: another number than at the last call if any was cancelled.
        """
        if num_cancels != self._num_cancels_seen:
            self._num_cancels_seen = num_cancels
            cancelled = [ticket for ticket in self._tickets.values() if ticket.is_cancelled]
            self._drop(cancelled)
            if cancelled:
                self._meter.left([ticket.passage(None) for ticket in cancelled])
        if self._next_deadline_s < math.inf and (now_s := time.monotonic()) >= self._next_deadline_s:
            late = [ticket for ticket in self._tickets.values() if ticket.deadline_s <= now_s]
            self._drop(late)
            self._hand_out([(ticket, DeadlineExceeded(ticket.timeout_s)) for ticket in late])
            remaining = (ticket.deadline_s for ticket in self._tickets.values())
            self._next_deadline_s = min(remaining, default=math.inf)

    def release(self) -> list[Ticket]:
        """Let go of everything; the tickets that ran here."""
        tickets = list(self._tickets.values())
        self._lanes.clear()
        self._apart.clear()
        self._tickets.clear()
        self._beginning.clear()
        return tickets

    def _join_together(self, tickets: Sequence[Ticket]) -> None:
        try:
            encoded = self._encode([ticket.source.ids for ticket in tickets])
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is told to whom it concerns
            self._join_apart(tickets, error)
            return
        for ticket in tickets:
            self._register(ticket)
        kind = tickets[0].kind
        lane = self._lanes.get(kind)
        if lane is None:
            lane = self._lanes[kind] = self._open_lane(kind)
        self._enter(lane, tickets, encoded)

    def _join_apart(self, tickets: Sequence[Ticket], error: Exception) -> None:
        """After an error that concerns one of several: each again, in a lane of its own."""
        if len(tickets) == 1:
            self._hand_out([(tickets[0], error)])
            return
        for ticket in tickets:
            try:
                encoded = self._encode([ticket.source.ids])
            except Exception as own_error:  # noqa: BLE001 -- the same
                self._hand_out([(ticket, own_error)])
                continue
            self._register(ticket)
            lane = self._open_lane(ticket.kind)
            self._apart.append(lane)
            self._enter(lane, [ticket], encoded)

    def _enter(self, lane: AnyLane[Encoded], tickets: Sequence[Ticket], encoded: Encoded) -> None:
        try:
            lane.join([ticket.source for ticket in tickets], encoded)
        except Exception as error:  # noqa: BLE001 -- the same; most likely there is no memory
            there = [self._tickets[source] for source in lane.sources]
            self._break_up(lane, list(dict.fromkeys([*there, *tickets])), error)

    def _step(self, lane: AnyLane[Encoded]) -> None:
        try:
            found = lane.step()
        except Exception as error:  # noqa: BLE001 -- the same
            self._break_up(lane, [self._tickets[source] for source in lane.sources], error)
            return
        self._hand_out([(self._tickets[one.source], one.error or one.hypotheses) for one in found])
        if self._num_watched:
            self._report(lane)

    def _break_up(self, lane: AnyLane[Encoded], tickets: Sequence[Ticket], error: Exception) -> None:
        """A step failed: its sources begin again, each alone, so that only the one at fault fails.

        What was found does not change, since no source's hypotheses depend on its company.
        """
        if self._lanes.get(lane.kind) is lane:
            del self._lanes[lane.kind]
        else:
            self._apart = [other for other in self._apart if other is not lane]
        self._join_apart(tickets, error)

    def _report(self, lane: AnyLane[Encoded]) -> None:
        """Tell those that watch how far their source has come."""
        faults: list[tuple[Ticket, Exception]] = []
        for slot, source in enumerate(lane.sources):
            ticket = self._tickets[source]
            if ticket.on_step is None or ticket.is_cancelled:
                continue
            ids = lane.beginning(slot)
            if len(ids) <= ticket.num_reported:
                continue
            ticket.num_reported = len(ids)
            try:
                ticket.on_step(ids)
            except Exception as fault:  # noqa: BLE001 -- a caller's own code: it fails the caller's text
                faults.append((ticket, fault))
        self._drop([ticket for ticket, _ in faults])
        self._hand_out(faults)

    def _register(self, ticket: Ticket) -> None:
        if ticket.source not in self._tickets:
            self._tickets[ticket.source] = ticket
            self._num_watched += ticket.on_step is not None
        self._next_deadline_s = min(self._next_deadline_s, ticket.deadline_s)

    def _forget(self, ticket: Ticket) -> None:
        self._refused_at = -1
        if self._tickets.pop(ticket.source, None) is not None:
            self._num_watched -= ticket.on_step is not None

    def _hand_out(self, outcomes: Sequence[tuple[Ticket, Outcome]]) -> None:
        if not outcomes:
            return
        for ticket, _ in outcomes:
            self._forget(ticket)
        self._meter.left([ticket.passage(outcome) for ticket, outcome in outcomes])
        for ticket, outcome in outcomes:
            ticket.finish(outcome)

    def _drop(self, tickets: Sequence[Ticket]) -> None:
        sources = {ticket.source for ticket in tickets}
        if not sources:
            return
        for lane in (*self._lanes.values(), *self._apart):
            lane.drop(sources)
        for ticket in tickets:
            self._forget(ticket)
