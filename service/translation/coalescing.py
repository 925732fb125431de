"""Do equal work that is requested twice at the same time only once."""

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class _Work(Generic[Result]):
    task: asyncio.Task[Result]
    num_waiting: int = 0
    leaving: asyncio.TimerHandle | None = None
    """Cancels the work, or drops its result, unless the request is repeated before."""


class Coalescer(Generic[Result]):
    """Shares work in progress between equal requests. For one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, _Work[Result]] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    async def join(
        self, key: Hashable, begin: Callable[[], Coroutine[Any, Any, Result]], linger_s: float
    ) -> Result:
        """Await the work with this key, which begins now unless it is in progress.

        Args:
            key: equal for work with equal results.
            begin: begins the work.
            linger_s: time for which the work goes on after all callers have left, and for which its result is
                then kept: a client that timed out and repeats its request gets the result.
        """
        work = self._under_way.get(key)
        if work is None:
            work = self._under_way[key] = _Work(asyncio.ensure_future(begin()))
        if work.leaving is not None:
            work.leaving.cancel()
            work.leaving = None
        work.num_waiting += 1
        try:
            result = await asyncio.shield(work.task)
        except asyncio.CancelledError:
            self._leave(key, work, linger_s)
            raise
        except BaseException:
            self._forget(key, work)
            raise
        self._forget(key, work)
        return result

    def _leave(self, key: Hashable, work: _Work[Result], linger_s: float) -> None:
        work.num_waiting -= 1
        if work.num_waiting:
            return
        if linger_s:
            loop = asyncio.get_running_loop()
            work.leaving = loop.call_later(linger_s, self._end, key, work)
        else:
            self._end(key, work)

    def _end(self, key: Hashable, work: _Work[Result]) -> None:
        self._forget(key, work)
        work.task.cancel()

    def _forget(self, key: Hashable, work: _Work[Result]) -> None:
        if self._under_way.get(key) is work:
            del self._under_way[key]
        if work.leaving is not None:
            work.leaving.cancel()
