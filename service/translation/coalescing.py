"""The same work asked for twice at a time is done once."""

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
    """Ends it, or forgets its result, unless somebody asks again before."""


class Coalescer(Generic[Result]):
    """Work under way by what was asked for. For one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[Hashable, _Work[Result]] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    async def join(
        self, asked: Hashable, begin: Callable[[], Coroutine[Any, Any, Result]], linger_s: float
    ) -> Result:
        """Await the work that was asked for, which begins now unless it is under way.

        Args:
            asked: equal for work that would come to the same.
            begin: makes the work.
            linger_s: how long it goes on after everybody has left. What is done by then is kept for that long
                as well: a client whose patience ended asks again, and gets what it did not wait for.
        """
        work = self._under_way.get(asked)
        if work is None:
            work = self._under_way[asked] = _Work(asyncio.ensure_future(begin()))
        if work.leaving is not None:
            work.leaving.cancel()
            work.leaving = None
        work.num_waiting += 1
        try:
            result = await asyncio.shield(work.task)
        except asyncio.CancelledError:
            self._leave(asked, work, linger_s)
            raise
        except BaseException:
            self._forget(asked, work)
            raise
        self._forget(asked, work)
        return result

    def _leave(self, asked: Hashable, work: _Work[Result], linger_s: float) -> None:
        work.num_waiting -= 1
        if work.num_waiting:
            return
        if linger_s:
            loop = asyncio.get_running_loop()
            work.leaving = loop.call_later(linger_s, self._end, asked, work)
        else:
            self._end(asked, work)

    def _end(self, asked: Hashable, work: _Work[Result]) -> None:
        self._forget(asked, work)
        work.task.cancel()

    def _forget(self, asked: Hashable, work: _Work[Result]) -> None:
        if self._under_way.get(asked) is work:
            del self._under_way[asked]
        if work.leaving is not None:
            work.leaving.cancel()
