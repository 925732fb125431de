"""Work for requests on threads that would block the event loop otherwise, and its cancellation."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from threading import Event, Thread
from typing import TypeVar

import anyio
import anyio.to_thread
from fastapi import Request

from service.http.errors import ClientDisconnectedError
from service.http.fair_slots import SlotsOfLoop
from service.http.shares import current_client

Result = TypeVar("Result")
_threads = SlotsOfLoop(40, 20)
"""As many as anyio has threads, and how many of them one client may use."""


async def run_in_thread(work: Callable[[], Result]) -> Result:
    """Run work that waits for a disk or a database on a thread, each client in its share of the threads."""
    async with _threads.get().hold(current_client.get()):
        return await anyio.to_thread.run_sync(work)


async def run_stoppable(work: Callable[[Event], Result]) -> Result:
    """Run work on a thread of its own. If the caller is cancelled, set the event, and wait for the end."""
    stop = Event()
    running = asyncio.ensure_future(run_on_daemon_thread(lambda: work(stop)))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        stop.set()
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


async def cancel_on_disconnect(connection: Request, work: Awaitable[Result]) -> Result:
    """Await work for a client; cancel it if the client disconnects.

    Raises:
        ClientDisconnectedError: the client has disconnected.
    """
    work_task = asyncio.ensure_future(work)
    disconnect_task = asyncio.ensure_future(_disconnected(connection))
    try:
        await asyncio.wait({work_task, disconnect_task}, return_when=asyncio.FIRST_COMPLETED)
        if not work_task.done():
            raise ClientDisconnectedError
        return work_task.result()
    finally:
        for task in (work_task, disconnect_task):
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def _disconnected(connection: Request) -> None:
    while (await connection.receive())["type"] != "http.disconnect":
        pass
