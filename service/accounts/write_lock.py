"""The lock of a database that allows one writer at a time: charges go first, others in order of arrival."""

import heapq
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from threading import Event, Lock


class WriteKind(Enum):
    """Kind of rows that a transaction writes; the value is its head start in seconds over others."""

    CHARGE = 2.0
    """A charge or a refund, for which a translation waits."""
    OTHER = 0.0


@dataclass(slots=True, eq=False)
class WriteLock:
    """Held by one thread at a time. The head start bounds how long charges can keep others waiting."""

    _is_held: bool = False
    _waiting: list[tuple[float, int, Event]] = field(default_factory=list)
    """Heap of those who wait, by their time of arrival less their head start."""
    _numbers: Iterator[int] = field(default_factory=count)
    _mutex: Lock = field(default_factory=Lock)

    def acquire(self, kind: WriteKind, timeout_s: float) -> bool:
        """Wait for the lock; return whether this thread holds it."""
        turn = Event()
        waiter = time.monotonic() - kind.value, next(self._numbers), turn
        with self._mutex:
            if not self._is_held:
                self._is_held = True
                return True
            heapq.heappush(self._waiting, waiter)
        if turn.wait(timeout_s):
            return True
        with self._mutex:
            if turn.is_set():  # its turn came just now
                return True
            self._waiting.remove(waiter)
            heapq.heapify(self._waiting)
        return False

    def release(self) -> None:
        """Give the lock to the thread that is next."""
        with self._mutex:
            if self._waiting:
                heapq.heappop(self._waiting)[-1].set()
            else:
                self._is_held = False
