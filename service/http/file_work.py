"""Work on clients' files: on threads, a few at a time, and only while somebody waits for it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event
from typing import TypeVar

from service.accounts.keys import Caller
from service.formats.isolation import ReaderStoppedError, RecordReader
from service.formats.limits import FileLimits
from service.http.errors import RETRY_AFTER, ApiError, ErrorKind
from service.http.fair_slots import FairSlots
from service.http.threads import run_stoppable

MAX_FILES = 4
"""Maximum number of files that are checked or imported at the same time."""
MAX_FILES_OF_CLIENT = 2
"""The same of one client, so that others find a free slot whatever it sends."""
COST_BYTES = 2**14
"""Bytes of a file that cost as much as the start of the process that reads it."""
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class FileWork:
    """Runs work on clients' files, each client in its share. For one event loop."""

    limits: FileLimits | None = None
    """Limits of the processes that read files; None to read them in this process."""
    _slots: FairSlots = field(default_factory=lambda: FairSlots(MAX_FILES, MAX_FILES_OF_CLIENT))

    async def run(self, caller: Caller, size_bytes: int, work: Callable[[Event], Result]) -> Result:
        """Run work on a thread when it is its turn. If the calling task is cancelled, the work stops.

        Args:
            caller: who gets the result.
            size_bytes: size of the file.
            work: gets an event that is set when it must stop.

        Raises:
            ApiError: the process that reads the file could not start.
        """
        async with self._slots.hold(caller.client, 1 + size_bytes // COST_BYTES):
            try:
                return await run_stoppable(work)
            except ReaderStoppedError as error:
                problem = "the file cannot be read at the moment; try again later"
                raise ApiError(ErrorKind.NOT_READY, problem, headers=RETRY_AFTER) from error

    async def import_records(
        self, caller: Caller, size_bytes: int, work: Callable[[RecordReader], Result]
    ) -> Result:
        """Do the same for work that reads records, or that stores many."""
        return await self.run(caller, size_bytes, lambda stop: work(RecordReader(self.limits, stop)))
