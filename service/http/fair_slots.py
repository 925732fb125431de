"""Slots for simultaneous work that clients share fairly: first by client, then by request."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from dragoman.scheduling.fair_queue import FairQueue, Flow


@dataclass(slots=True, eq=False)
class _Waiter:
    """A request that waits for a slot, as the engine's queue sees it."""

    flow: Flow
    num_tokens: int
    turn: asyncio.Future[None]
    deadline_s: float = math.inf


@dataclass(slots=True, eq=False)
class FairSlots:
    """Slots, of which one client can have some, so that others find a free one. For one event loop.

    Of the clients with the fewest slots, the engine's queue chooses who is next. It cannot stop what runs:
    hence the limit of each client.
    """

    num_slots: int
    max_of_client: int
    _queue: FairQueue[_Waiter] = field(default_factory=FairQueue)
    _num_running: Counter[Hashable] = field(default_factory=Counter)

    @asynccontextmanager
    async def hold(self, client: Hashable, cost: int = 1) -> AsyncIterator[None]:
        """Wait for a slot, and hold it for the block.

        Args:
            client: who has its share: a key, or an address without one.
            cost: expected cost of the work, in any unit that all callers share.
        """
        waiter = _Waiter(Flow(client), cost, asyncio.get_running_loop().create_future())
        self._queue.add(waiter)
        self._start_next()
        try:
            await waiter.turn
        except asyncio.CancelledError:
            if not self._queue.remove(waiter):  # its turn had just come
                self._release(client)
            raise
        try:
            yield
        finally:
            self._release(client)

    def _release(self, client: Hashable) -> None:
        self._num_running[client] -= 1
        if not self._num_running[client]:
            del self._num_running[client]
        self._start_next()

    def _start_next(self) -> None:
        while self._num_running.total() < self.num_slots:
            waiting = filter(self._may_start, self._queue.in_order())
            waiter = min(waiting, key=self._num_running_of_client, default=None)
            if waiter is None:
                return
            self._queue.take(waiter)
            self._num_running[waiter.flow.owner] += 1
            waiter.turn.set_result(None)

    def _may_start(self, waiter: _Waiter) -> bool:
        return self._num_running_of_client(waiter) < self.max_of_client and not waiter.turn.cancelled()

    def _num_running_of_client(self, waiter: _Waiter) -> int:
        return self._num_running[waiter.flow.owner]
