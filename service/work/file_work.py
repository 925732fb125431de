"""Work on clients' files: on threads, a few at a time, and only while somebody waits for it."""

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Event
from typing import NamedTuple, TypeVar

from service.accounts.keys import Caller
from service.errors import RETRY_AFTER, ErrorKind, ServiceError
from service.formats.isolation import ReaderSliceOverError, ReaderStoppedError, RecordReader
from service.formats.limits import COSTLY_CPU_S, FileLimits
from service.work.fair_slots import FairSlots
from service.work.threads import run_stoppable

COST_BYTES = 2**14
"""Bytes of a file that cost as much as the start of the process that reads it."""
Result = TypeVar("Result")


class FileUnreadable(ServiceError):  # noqa: N818 -- clear without the suffix
    """A file cannot be read because a resource of the server is missing."""

    MESSAGE = "the file cannot be read at the moment; try again later"
    kind = ErrorKind.STORE_UNAVAILABLE
    headers = RETRY_AFTER


class FileTurn(NamedTuple):
    """One of the turns that a file can have; each begins at the start of the file."""

    cpu_s: float | None
    """CPU time in seconds after which the file waits for its next turn; None for the last one."""
    num_slots: int
    """Maximum number of files that are checked or imported in this turn or a later one at the same time."""
    max_of_client: int
    """The same of one client."""


TURNS = (FileTurn(COSTLY_CPU_S, 5, 2), FileTurn(4.0, 3, 1), FileTurn(None, 2, 1))
"""Costly files never have all slots, so that a small one finds a free slot whatever others send."""


@dataclass(slots=True, eq=False)
class FileWork:
    """Runs work on clients' files, each client in its share. For one event loop."""

    limits: FileLimits | None = None
    """Limits of the processes that read files; None to read them in this process."""
    _slots: Sequence[FairSlots] = field(
        default_factory=lambda: [FairSlots(turn.num_slots, turn.max_of_client) for turn in TURNS]
    )

    async def run(
        self, caller: Caller, size_bytes: int, work: Callable[[FileLimits | None, Event], Result]
    ) -> Result:
        """Run work on a thread when it is its turn. If the calling task is cancelled, the work stops.

        Work on a costly file runs several times, and must change nothing before it has read the file.

        Args:
            caller: who gets the result.
            size_bytes: size of the file.
            work: gets the limits of the process that reads the file, and an event that is set when it must
                stop.

        Raises:
            FileUnreadable: the process that reads the file could not start.
        """
        for number, turn in enumerate(TURNS):
            limits = self.limits and replace(self.limits, slice_cpu_s=turn.cpu_s)
            async with AsyncExitStack() as held:
                for slots in reversed(self._slots[: number + 1]):
                    await held.enter_async_context(slots.hold(caller.client, 1 + size_bytes // COST_BYTES))
                try:
                    return await run_stoppable(partial(work, limits))
                except ReaderSliceOverError:
                    continue
                except ReaderStoppedError as error:
                    raise FileUnreadable from error
        raise AssertionError("the last turn has no end")

    async def import_records(
        self, caller: Caller, size_bytes: int, work: Callable[[RecordReader], Result]
    ) -> Result:
        """Do the same for work that reads records, or that stores many."""
        return await self.run(caller, size_bytes, lambda limits, stop: work(RecordReader(limits, stop)))
