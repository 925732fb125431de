"""Fair queueing over owners, and over the requests of each owner: pure policy.

Each owner has a virtual time, which grows by the tokens served to it; the owner with the lowest goes next. A
new owner starts at the virtual time of the queue, which grows by the tokens served divided by the number of
waiting owners, as if all were served at once in equal shares. Requests of one owner are ordered in the same
way. So a large text gets its share and what the others leave, and none waits forever: later requests start
at a later time.

Demers, Keshav and Shenker, "Analysis and Simulation of a Fair Queueing Algorithm", SIGCOMM 1989.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush, heapreplace
from typing import Generic, Protocol, TypeVar

from dragoman.argument_types import checks_arguments

MAX_STALE_ENTRIES = 2
"""Maximum heap entries per waiting item before the heap is rebuilt."""


@checks_arguments
@dataclass(slots=True, eq=False)
class Flow:
    """A request as the queue sees it: its segments share one virtual time. Compared by identity."""

    owner: Hashable = None
    """Caller that shares with other owners, such as an API key; None for all without a key together."""
    num_tokens: int = 0
    """Source tokens of its segments queued so far."""
    _steps: "dict[int, Flow]" = field(default_factory=dict)

    def at_step(self, step: int) -> "Flow":
        """Return this request's flow for one step of a pivot translation: each model has its own queue."""
        return self._steps.setdefault(step, Flow(self.owner)) if step else self


class QueuedSource(Protocol):
    """A source as the queue sees it. Compared by identity."""

    @property
    def num_tokens(self) -> int: ...
    @property
    def flow(self) -> Flow: ...
    @property
    def deadline_s(self) -> float:
        """Deadline on the clock of `time.monotonic`; infinity for none."""
        ...


Q = TypeVar("Q", bound=QueuedSource)
Item = TypeVar("Item", bound=Hashable)
_Entry = tuple[float, float, int, Item]
"""Virtual time, deadline, arrival number, and the item."""


class FairQueue(Generic[Q]):
    """Queue of waiting sources. Not thread-safe."""

    def __init__(self) -> None:
        self._owners: _VirtualTimeQueue[Hashable] = _VirtualTimeQueue()
        self._flows: dict[Hashable, _VirtualTimeQueue[Flow]] = {}
        self._sources: dict[Flow, dict[Q, None]] = {}
        self._num_of_owner: Counter[Hashable] = Counter()
        self._num_sources = 0

    def __len__(self) -> int:
        return self._num_sources

    def __iter__(self) -> Iterator[Q]:
        """Yield all sources, by request."""
        return (source for sources in self._sources.values() for source in sources)

    def num_of(self, owner: Hashable) -> int:
        """Count the sources of an owner."""
        return self._num_of_owner[owner]

    def add(self, added: Sequence[Q]) -> None:
        """Queue sources of one request, after all others of it."""
        flow = added[0].flow
        sources = self._sources.get(flow)
        if sources is None:
            flows = self._flows.get(flow.owner)
            if flows is None:
                flows = self._flows[flow.owner] = _VirtualTimeQueue()
                self._owners.enter(flow.owner, math.inf)
            flows.enter(flow, added[0].deadline_s)
            sources = self._sources[flow] = {}
        sources |= dict.fromkeys(added)
        self._num_of_owner[flow.owner] += len(added)
        self._num_sources += len(added)

    def remove(self, source: Q) -> bool:
        """Remove a source without charging for it; return whether it was waiting."""
        is_waiting = source in self._sources.get(source.flow, ())
        if is_waiting:
            self._remove(source.flow, [source])
        return is_waiting

    def take(self, taken: Iterable[Q]) -> None:
        """Remove waiting sources, and charge their requests and owners for them."""
        by_flow: dict[Flow, list[Q]] = {}
        for source in taken:
            by_flow.setdefault(source.flow, []).append(source)
        for flow, sources in by_flow.items():
            num_tokens = sum([source.num_tokens for source in sources])
            self._flows[flow.owner].charge(flow, num_tokens)
            self._owners.charge(flow.owner, num_tokens)
            self._remove(flow, sources)

    def _remove(self, flow: Flow, removed: Sequence[Q]) -> None:
        """Remove waiting sources of a request."""
        sources = self._sources[flow]
        for source in removed:
            del sources[source]
        self._num_of_owner[flow.owner] -= len(removed)
        self._num_sources -= len(removed)
        if not sources:
            del self._sources[flow]
            flows = self._flows[flow.owner]
            flows.leave(flow)
            if not len(flows):
                # The tokens of its requests no longer count: the owner starts again as a new one.
                del self._flows[flow.owner], self._num_of_owner[flow.owner]
                self._owners.leave(flow.owner)

    def in_order(self) -> Iterator[Q]:
        """Yield sources in the order of the queue, which must not change meanwhile."""
        if len(self._sources) == 1:  # nothing to share
            (sources,) = self._sources.values()
            yield from sources
            return
        owners = self._owners.order()
        orders: dict[Hashable, _Order[Flow]] = {}
        waiting: dict[Flow, Iterator[Q]] = {}
        num_left: dict[Flow, int] = {}
        while owners.has_more():
            owner = owners.first()
            if owner not in orders:
                orders[owner] = self._flows[owner].order()
            flows = orders[owner]
            flow = flows.first()
            if flow not in waiting:
                waiting[flow] = iter(self._sources[flow])
                num_left[flow] = len(self._sources[flow])
            source = next(waiting[flow])
            num_left[flow] -= 1
            yield source
            flows.spend(source.num_tokens, is_done=not num_left[flow])
            owners.spend(source.num_tokens, is_done=not flows.has_more())


class _VirtualTimeQueue(Generic[Item]):
    """Waiting items of one kind, by virtual time."""

    def __init__(self) -> None:
        self._virtual = 0.0
        self._num_arrivals = 0
        self._entries: dict[Item, _Entry[Item]] = {}
        self._heap: list[_Entry[Item]] = []  # entries in use, and stale ones

    def __len__(self) -> int:
        return len(self._entries)

    def enter(self, item: Item, deadline_s: float) -> None:
        self._num_arrivals += 1
        self._put((self._virtual, deadline_s, self._num_arrivals, item))

    def leave(self, item: Item) -> None:
        del self._entries[item]

    def charge(self, item: Item, cost: int) -> None:
        self._virtual += cost / len(self._entries)
        time, deadline_s, number, _ = self._entries[item]
        self._put((time + cost, deadline_s, number, item))

    def order(self) -> "_Order[Item]":
        return _Order(self._heap.copy(), self._entries)

    def _put(self, entry: _Entry[Item]) -> None:
        self._entries[entry[-1]] = entry
        if len(self._heap) > MAX_STALE_ENTRIES * len(self._entries):
            self._heap = list(self._entries.values())
            heapify(self._heap)
        else:
            heappush(self._heap, entry)


class _Order(Generic[Item]):
    """Iteration over a level's items in order, without changing the level."""

    def __init__(self, heap: list[_Entry[Item]], entries: dict[Item, _Entry[Item]]) -> None:
        self._heap = heap
        self._entries = entries
        self._moved: dict[Item, _Entry[Item]] = {}

    def has_more(self) -> bool:
        """Return whether anything is left; call it before `first`."""
        while self._heap:
            entry = self._heap[0]
            if self._moved.get(entry[-1], self._entries.get(entry[-1])) is entry:
                return True
            heappop(self._heap)
        return False

    def first(self) -> Item:
        """Return the next item."""
        if not self.has_more():
            raise IndexError("the queue is empty")
        return self._heap[0][-1]

    def spend(self, cost: int, *, is_done: bool) -> None:
        """Advance the first item by the tokens it is served, or remove it."""
        time, deadline_s, number, item = self._heap[0]
        if is_done:
            heappop(self._heap)
            return
        moved = self._moved[item] = (time + cost, deadline_s, number, item)
        heapreplace(self._heap, moved)
