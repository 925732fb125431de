"""Slots for simultaneous work that clients share fairly: first by client, then by request.

The engine's `FairQueue` shares what can be interrupted at every step. Here work runs to its end: hence the
limit of each client, which that queue lacks.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from anyio.lowlevel import RunVar


class _Waiter(NamedTuple):
    """A request that waits for a slot."""

    turn: asyncio.Future[None]
    cost: int


@dataclass(slots=True, eq=False)
class FairSlots:
    """Slots, of which one client can have some, so that others find a free one. For one event loop.

    Of the clients with the fewest slots, the one whose work has cost least, with its next one, goes first. A
    new client starts with the cost of the one that had least.
    """

    num_slots: int
    max_of_client: int
    _num_running: Counter[Hashable] = field(default_factory=Counter)
    _waiting: dict[Hashable, deque[_Waiter]] = field(default_factory=dict)
    _costs: dict[Hashable, int] = field(default_factory=dict)
    """Cost of the work of all clients that run or wait."""

    @asynccontextmanager
    async def hold(self, client: Hashable, cost: int = 1) -> AsyncIterator[None]:
        """Wait for a slot, and hold it for the block.

        Args:
            client: who has its share: a key, or an address without one.
            cost: expected cost of the work, in any unit that all callers share.
        """
        await self._wait(client, cost)
        try:
            yield
        finally:
            self._release(client)

    async def _wait(self, client: Hashable, cost: int) -> None:
        waiter = _Waiter(asyncio.get_running_loop().create_future(), cost)
        self._costs.setdefault(client, min(self._costs.values(), default=0))
        self._waiting.setdefault(client, deque()).append(waiter)
        self._start_next()
        try:
            await waiter.turn
        except asyncio.CancelledError:
            if not waiter.turn.cancelled():  # its turn had just come
                self._release(client)
            else:
                with suppress(KeyError, ValueError):  # the search for the next one has dropped it
                    self._waiting[client].remove(waiter)
                self._forget(client)
            raise

    def _release(self, client: Hashable) -> None:
        self._num_running[client] -= 1
        self._forget(client)
        self._start_next()

    def _start_next(self) -> None:
        while self._num_running.total() < self.num_slots:
            ready = [client for client in self._waiting if self._num_running[client] < self.max_of_client]
            if not ready:
                return
            client = min(ready, key=self._precedence)
            waiter = self._waiting[client].popleft()
            if not waiter.turn.done():
                self._num_running[client] += 1
                self._costs[client] += waiter.cost
                waiter.turn.set_result(None)
            self._forget(client)

    def _precedence(self, client: Hashable) -> tuple[int, int]:
        return self._num_running[client], self._costs[client] + self._waiting[client][0].cost

    def _forget(self, client: Hashable) -> None:
        if not self._waiting.get(client, True):
            del self._waiting[client]
        if not self._num_running[client]:
            del self._num_running[client]
            if client not in self._waiting:
                self._costs.pop(client, None)


@dataclass(frozen=True, slots=True)
class SlotsOfLoop:
    """Slots for code that has no object of the application at hand; each event loop has its own."""

    num_slots: int
    max_of_client: int
    _variable: RunVar[FairSlots] = field(default_factory=lambda: RunVar("slots"))

    def get(self) -> FairSlots:
        """Return the slots of the running event loop."""
        try:
            return self._variable.get()
        except LookupError:
            slots = FairSlots(self.num_slots, self.max_of_client)
            self._variable.set(slots)
            return slots
