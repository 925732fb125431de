"""The same work asked for twice at a time is done once."""

import asyncio

import pytest

from service.translation.coalescing import Coalescer

pytestmark = pytest.mark.anyio


class Works:
    """Work that waits to be released, and counts how often it was given up."""

    def __init__(self) -> None:
        self.num_given_up = 0
        self.released = asyncio.Event()

    async def work(self) -> int:
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.num_given_up += 1
            raise
        return 1


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_work_ends_with_the_last_who_waits_for_it() -> None:
    works, sharing = Works(), Coalescer[int]()
    first, second = (asyncio.ensure_future(sharing.join("a", works.work, 0)) for _ in range(2))
    await settle()
    first.cancel()
    await settle()
    assert works.num_given_up == 0
    second.cancel()
    await settle()

    assert works.num_given_up == 1
    assert len(sharing) == 0


async def test_a_failure_reaches_all_waiting_callers_and_is_not_cached() -> None:
    sharing, begin = Coalescer[int](), asyncio.Event()

    async def fail() -> int:
        await begin.wait()
        raise LookupError("no")

    waiting = [asyncio.ensure_future(sharing.join("a", fail, 60)) for _ in range(2)]
    await settle()
    begin.set()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(outcome) for outcome in outcomes] == [LookupError, LookupError]
    assert len(sharing) == 0


@pytest.mark.parametrize("linger_s", [0, 60])
async def test_a_result_that_arrives_as_all_callers_leave_is_ignored(linger_s: float) -> None:
    works, sharing = Works(), Coalescer[int]()
    leaving = asyncio.ensure_future(sharing.join("a", works.work, linger_s))
    await settle()
    works.released.set()
    leaving.cancel()
    await settle()
    works.released.set()

    assert await sharing.join("a", works.work, linger_s) == 1
