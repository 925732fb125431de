"""Slots that clients share: none can hold all, and whoever has had less goes first."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Event

import pytest

from service.http.fair_slots import FairSlots
from service.http.threads import run_stoppable


async def settle() -> None:
    """Let all tasks run as far as they can."""
    for _ in range(20):
        await asyncio.sleep(0)


class Clients:
    """Requests that hold a slot until they are told to end."""

    def __init__(self, slots: FairSlots) -> None:
        self._slots = slots
        self.running: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def send(self, name: str, cost: int = 1) -> None:
        """Send a request of the client that the first letter names."""
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._hold(name, cost))

    def end(self, name: str) -> None:
        self._ends[name].set()

    def leave(self, name: str) -> None:
        self._tasks[name].cancel()

    async def _hold(self, name: str, cost: int) -> None:
        async with self._slots.hold(name[0], cost):
            self.running.append(name)
            try:
                await self._ends[name].wait()
            finally:
                self.running.remove(name)


def played(play: Callable[[Clients], Awaitable[None]], slots: FairSlots | None = None) -> None:
    async def run() -> None:
        await play(Clients(slots or FairSlots(num_slots=3, max_of_client=2)))

    asyncio.run(run())


def test_a_client_cannot_hold_all_slots() -> None:
    async def play(clients: Clients) -> None:
        for number in range(9):
            clients.send(f"a{number}")
        await settle()
        assert clients.running == ["a0", "a1"]
        clients.send("b0")
        await settle()
        assert clients.running == ["a0", "a1", "b0"]

    played(play)


def test_the_client_with_the_fewest_slots_goes_first() -> None:
    async def play(clients: Clients) -> None:
        for name in ("a0", "a1", "c0", "a2", "c1", "b0"):
            clients.send(name)
        await settle()
        clients.end("a0")
        await settle()
        assert clients.running == ["a1", "c0", "b0"]

    played(play)


def test_of_two_that_wait_the_one_whose_work_cost_less_goes_first() -> None:
    async def play(clients: Clients) -> None:
        for name, cost in (("x0", 1), ("a0", 9), ("a1", 9), ("b0", 1), ("b1", 1), ("b2", 1)):
            clients.send(name, cost)
        for name, next_name in (("x0", "a0"), ("a0", "b0"), ("b0", "b1"), ("b1", "b2")):
            await settle()
            clients.end(name)
            await settle()
            assert clients.running == [next_name]

    played(play, FairSlots(num_slots=1, max_of_client=1))


@pytest.mark.parametrize("is_waiting", [True, False])
def test_a_client_that_leaves_leaves_nothing_behind(*, is_waiting: bool) -> None:
    async def play(clients: Clients) -> None:
        for name in ("a0", "a1", "b0", "c0", "d0"):
            clients.send(name)
        await settle()
        clients.leave("c0" if is_waiting else "b0")
        await settle()
        clients.end("a0")
        await settle()
        assert clients.running[-1] == "d0"

    played(play)


def test_a_client_that_leaves_when_its_turn_comes_gives_it_to_the_next() -> None:
    async def play(clients: Clients) -> None:
        for name in ("a0", "a1", "b0", "c0", "d0"):
            clients.send(name)
        await settle()
        clients.end("a0")
        await asyncio.sleep(0)  # it ends, and the turn passes to another, which does not know yet
        clients.leave("c0")
        await settle()
        assert clients.running == ["a1", "b0", "d0"]

    played(play)


def test_work_of_a_cancelled_caller_is_stopped_and_awaited() -> None:
    async def run() -> None:
        has_begun, has_ended = asyncio.Event(), Event()
        loop = asyncio.get_running_loop()

        def work(stop: Event) -> None:
            loop.call_soon_threadsafe(has_begun.set)
            stop.wait()
            has_ended.set()

        task = asyncio.create_task(run_stoppable(work))
        await has_begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert has_ended.is_set()

    asyncio.run(run())


def test_an_error_of_the_work_is_raised() -> None:
    def work(_: Event) -> None:
        raise ValueError("a problem")

    with pytest.raises(ValueError, match="a problem"):
        asyncio.run(run_stoppable(work))


def test_slots_remember_nobody_who_has_left() -> None:
    slots = FairSlots(num_slots=1, max_of_client=1)

    async def play(clients: Clients) -> None:
        for name in ("a0", "a1", "b0", "c0"):
            clients.send(name)
        await settle()
        clients.end("a0")
        clients.leave("b0")
        clients.leave("c0")
        clients.end("a1")
        await settle()
        assert not slots._costs
        assert not slots._waiting
        assert not slots._num_running

    played(play, slots)
