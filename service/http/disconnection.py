"""Cancellation of work whose client has disconnected."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from fastapi import Request

from service.http.errors import ClientDisconnectedError

Result = TypeVar("Result")


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
