"""Slots that clients share, of which none can hold all; and equal work, which is done once."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event

import pytest

from dragoman.pipeline.pacing import LARGE_CHARACTERS
from service.accounts.keys import ANONYMOUS
from service.formats.isolation import ReaderSliceOverError
from service.formats.limits import FileLimits
from service.translation.coalescing import Coalescer
from service.translation.inference import Inference
from service.work.fair_slots import FairSlots, SlotsOfLoop
from service.work.file_work import TURNS, FileWork
from service.work.shares import current_client
from service.work.threads import run_in_thread, run_stoppable
from tests.engine.routing.doubles import until
from tests.service.conftest import router_of
from tests.service.doubles import DoubleTranslator

pytestmark = pytest.mark.anyio


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

    def send(self, *names: str, cost: int = 1) -> None:
        """Send requests of the clients that the first letters name."""
        for name in names:
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


@pytest.fixture
def clients() -> Clients:
    """Clients of three slots, of which each may hold two."""
    return Clients(FairSlots(num_slots=3, max_of_client=2))


async def test_a_client_cannot_hold_all_slots(clients: Clients) -> None:
    clients.send(*(f"a{number}" for number in range(9)))
    await settle()
    assert clients.running == ["a0", "a1"]
    clients.send("b0")
    await settle()
    assert clients.running == ["a0", "a1", "b0"]


async def test_the_client_with_the_fewest_slots_goes_first(clients: Clients) -> None:
    clients.send("a0", "a1", "c0", "a2", "c1", "b0")
    await settle()
    clients.end("a0")
    await settle()
    assert clients.running == ["a1", "c0", "b0"]


async def test_of_two_waiting_clients_the_cheaper_one_goes_first() -> None:
    clients = Clients(FairSlots(num_slots=1, max_of_client=1))
    clients.send("x0")
    clients.send("a0", "a1", cost=9)
    clients.send("b0", "b1", "b2", "b3", cost=4)
    for name, next_name in (("x0", "b0"), ("b0", "b1"), ("b1", "a0"), ("a0", "b2"), ("b2", "b3")):
        await settle()
        clients.end(name)
        await settle()
        assert clients.running == [next_name]


@pytest.mark.parametrize("is_waiting", [True, False])
async def test_a_client_that_leaves_leaves_nothing_behind(clients: Clients, *, is_waiting: bool) -> None:
    clients.send("a0", "a1", "b0", "c0", "d0")
    await settle()
    clients.leave("c0" if is_waiting else "b0")
    await settle()
    clients.end("a0")
    await settle()
    assert clients.running[-1] == "d0"


async def test_a_client_that_leaves_when_its_turn_comes_gives_it_to_the_next(clients: Clients) -> None:
    clients.send("a0", "a1", "b0", "c0", "d0")
    await settle()
    clients.end("a0")
    await asyncio.sleep(0)  # it ends, and the turn passes to another, which does not know yet
    clients.leave("c0")
    await settle()
    assert clients.running == ["a1", "b0", "d0"]


async def test_work_of_a_cancelled_caller_is_stopped_and_awaited() -> None:
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


async def test_an_error_of_the_work_is_raised() -> None:
    def work(_: Event) -> None:
        raise ValueError("a problem")

    with pytest.raises(ValueError, match="a problem"):
        await run_stoppable(work)


class Files:
    """Files whose readers use up their slices of CPU time, and at last run until they are told to end."""

    def __init__(self) -> None:
        self.work = FileWork(FileLimits())
        self.running: list[str] = []
        self.turns: Counter[str] = Counter()
        self._end = Event()
        self._tasks: list[asyncio.Task[None]] = []

    def send(self, name: str, num_turns: int) -> asyncio.Task[None]:
        """Send a file of the client that the name begins with; it is read in this many turns."""
        caller = replace(ANONYMOUS, client=name.partition("-")[0])
        self._tasks.append(
            asyncio.create_task(self.work.run(caller, 1, partial(self._read, name, num_turns)))
        )
        return self._tasks[-1]

    def _read(self, name: str, num_turns: int, limits: FileLimits | None, stop: Event) -> None:
        del stop
        self.turns[name] += 1
        assert limits is not None
        assert limits.slice_cpu_s == TURNS[self.turns[name] - 1].cpu_s
        if self.turns[name] < num_turns:
            raise ReaderSliceOverError
        if num_turns == len(TURNS):
            self.running.append(name)
            self._end.wait()

    async def end(self) -> None:
        self._end.set()
        await asyncio.gather(*self._tasks)


@pytest.mark.parametrize("num_clients", [1, 2, 8])
async def test_costly_files_of_any_number_of_clients_never_have_all_slots(num_clients: int) -> None:
    files = Files()
    costly = [f"{client}-{number}" for client in range(num_clients) for number in range(3)]
    for name in costly:
        files.send(name, len(TURNS))
    num_running = min(num_clients, TURNS[-1].num_slots)
    has_all = lambda: len(files.running) == num_running and len(files.turns) == len(costly)  # noqa: E731
    await asyncio.to_thread(until, has_all)

    for num_turns in range(1, len(TURNS)):
        await files.send(f"other-{num_turns}", num_turns)
        assert files.turns[f"other-{num_turns}"] == num_turns
    assert len(files.running) == num_running
    await files.end()
    assert files.turns == {**dict.fromkeys(costly, len(TURNS)), "other-1": 1, "other-2": 2}


async def test_slots_forget_clients_that_have_left() -> None:
    slots = FairSlots(num_slots=1, max_of_client=1)
    clients = Clients(slots)
    clients.send("a0", "a1", "b0", "c0")
    await settle()
    clients.end("a0")
    clients.leave("b0")
    clients.leave("c0")
    clients.end("a1")
    await settle()
    assert not slots._costs
    assert not slots._waiting
    assert not slots._num_running


async def test_a_client_whose_calls_hang_leaves_threads_to_others() -> None:
    may_end = Event()

    async def ask(client: str, work: Callable[[], object]) -> object:
        current_client.set(client)
        return await run_in_thread(work)

    hanging = [asyncio.create_task(ask("a", may_end.wait)) for _ in range(100)]
    await settle()
    try:
        assert await asyncio.wait_for(ask("b", lambda: "done"), 30) == "done"
    finally:
        may_end.set()
        await asyncio.gather(*hanging)


def test_each_event_loop_has_slots_of_its_own_that_stay_the_same() -> None:
    async def found() -> FairSlots:
        slots = SlotsOfLoop(1, 1)
        assert slots.get() is slots.get()
        return slots.get()

    assert asyncio.run(found()) is not asyncio.run(found())


async def test_long_texts_of_one_client_are_not_all_prepared_before_those_of_another(
    translator: DoubleTranslator, models_dir: Path
) -> None:
    order: list[str] = []

    async def prepare(inference: Inference, name: str) -> None:
        current_client.set(name[0])
        await inference.run_in_thread(lambda: order.append(name), LARGE_CHARACTERS)

    with router_of(translator, models_dir / "tiny") as router:
        inference = Inference(router, 1.0, ())
        await asyncio.gather(*(prepare(inference, name) for name in ("a0", "a1", "a2", "b0")))
    assert order == ["a0", "a1", "b0", "a2"]


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
