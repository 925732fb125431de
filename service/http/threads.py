"""Work on threads that would block the event loop, and with it all other requests."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TypeVar

import anyio.to_thread

Result = TypeVar("Result")


async def run_in_thread(work: Callable[[], Result]) -> Result:
    """Run work that waits for a disk or a database, on a thread."""
    return await anyio.to_thread.run_sync(work)


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
