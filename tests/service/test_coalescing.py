"""The same work asked for twice at a time is done once."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from service.translation.coalescing import Coalescer


class Works:
    """Work that waits to be released, and counts how often it began and was given up."""

    def __init__(self) -> None:
        self.num_begun = 0
        self.num_given_up = 0
        self.released = asyncio.Event()
        self.given_up = asyncio.Event()

    async def work(self) -> int:
        self.num_begun += 1
        number = self.num_begun
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.num_given_up += 1
            self.given_up.set()
            raise
        return number


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 30))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_equal_work_is_done_once_and_other_work_by_itself() -> None:
    async def scenario() -> None:
        works, sharing = Works(), Coalescer[int]()
        waiting = [asyncio.ensure_future(sharing.join(key, works.work, 0)) for key in "aab"]
        await settle()
        works.released.set()

        assert await asyncio.gather(*waiting) == [1, 1, 2]
        assert len(sharing) == 0

    run(scenario())


def test_what_is_asked_again_later_is_done_again() -> None:
    async def scenario() -> None:
        works, sharing = Works(), Coalescer[int]()
        works.released.set()

        assert [await sharing.join("a", works.work, 0) for _ in range(2)] == [1, 2]

    run(scenario())


def test_work_ends_with_the_last_who_waits_for_it() -> None:
    async def scenario() -> None:
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

    run(scenario())


def test_abandoned_work_lingers_for_whoever_asks_again() -> None:
    async def scenario() -> None:
        works, sharing = Works(), Coalescer[int]()
        leaving = asyncio.ensure_future(sharing.join("a", works.work, 60))
        await settle()
        leaving.cancel()
        await settle()
        works.released.set()
        await settle()

        assert await sharing.join("a", works.work, 60) == 1
        assert (works.num_begun, works.num_given_up, len(sharing)) == (1, 0, 0)

    run(scenario())


def test_nobody_lingers_for_ever() -> None:
    async def scenario() -> None:
        works, sharing = Works(), Coalescer[int]()
        leaving = asyncio.ensure_future(sharing.join("a", works.work, 0.01))
        await settle()
        leaving.cancel()
        await works.given_up.wait()

        assert len(sharing) == 0
        works.released.set()
        assert await sharing.join("a", works.work, 0) == 2

    run(scenario())


def test_a_failure_is_told_to_all_who_wait_and_not_kept() -> None:
    async def scenario() -> None:
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

    run(scenario())


@pytest.mark.parametrize("linger_s", [0, 60])
def test_a_result_that_comes_as_everybody_leaves_hurts_nobody(linger_s: float) -> None:
    async def scenario() -> None:
        works, sharing = Works(), Coalescer[int]()
        leaving = asyncio.ensure_future(sharing.join("a", works.work, linger_s))
        await settle()
        works.released.set()
        leaving.cancel()
        await settle()
        works.released.set()

        assert await sharing.join("a", works.work, linger_s) in {1, 2}

    run(scenario())
