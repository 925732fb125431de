"""Work for requests on threads that would block the event loop otherwise, and its cancellation."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import Any, TypeVar

import anyio
import anyio.to_thread

from service.work.fair_slots import SlotsOfLoop
from service.work.shares import current_client

Result = TypeVar("Result")
_threads = SlotsOfLoop(40, 20)
"""As many as anyio has threads, and how many of them one client may use."""


async def run_in_thread(work: Callable[[], Result]) -> Result:
    """Run work that waits for a disk or a database on a thread, each client in its share of the threads.

    If the caller is cancelled, this waits for the end: the thread stays in use until then.
    """
    async with _threads.get().hold(current_client.get()):
        return await _finished(anyio.to_thread.run_sync(work), lambda: None)


async def run_stoppable(work: Callable[[Event], Result]) -> Result:
    """Run work on a thread of its own. If the caller is cancelled, set the event, and wait for the end."""
    stop = Event()
    return await _finished(run_on_daemon_thread(lambda: work(stop)), stop.set)


async def _finished(work: Coroutine[Any, Any, Result], stop: Callable[[], None]) -> Result:
    """Await work to its end, even if the caller is cancelled, who first calls `stop`."""
    running = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({running})
        raise
    finally:
        if running.done() and not running.cancelled():
            running.exception()  # nobody else asks


async def run_on_daemon_thread(work: Callable[[], Result]) -> Result:
    """Run work that may hang, on a thread that neither a cancelled caller nor the process waits for."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()

    def run() -> None:
        try:
            settle = partial(_set_result, future, work())
        except BaseException as error:  # noqa: BLE001 -- raised again where it is awaited
            settle = partial(_set_error, future, error)
        with suppress(RuntimeError):  # the loop is closed, so that nobody waits
            loop.call_soon_threadsafe(settle)

    Thread(target=run, daemon=True).start()
    return await future


def _set_result(future: asyncio.Future[Result], result: Result) -> None:
    if not future.done():  # else it was cancelled
        future.set_result(result)


def _set_error(future: asyncio.Future[Result], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
