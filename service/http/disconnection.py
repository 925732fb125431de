"""Cancellation of work whose client has disconnected."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

from fastapi import Request

from service.http.errors import ClientGoneError

Result = TypeVar("Result")


async def while_connected(connection: Request, work: Awaitable[Result]) -> Result:
    """Await work for a client; cancel it if the client disconnects.

    Raises:
        ClientGoneError: the client has disconnected.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnected(connection))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGoneError
        return working.result()
    finally:
        for task in (working, leaving):
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def _disconnected(connection: Request) -> None:
    while (await connection.receive())["type"] != "http.disconnect":
        pass
