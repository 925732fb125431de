"""Work beside the event loop, where it would hold up every other request."""

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

Result = TypeVar("Result")


async def beside(work: Callable[[], Result]) -> Result:
    """Do what waits for a disk or a database, on a thread."""
    return await anyio.to_thread.run_sync(work)
