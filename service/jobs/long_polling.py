"""Who waits for the end of a job hears of it soon, whichever process it was that ended it."""

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import suppress

from service.accounts.errors import StoreError
from service.http.threads import run_in_thread
from service.jobs.job import Job
from service.jobs.store import JobStore
from service.telemetry.worker_counters import HEARTBEAT_S

LOOK_S = 0.2
"""Between two looks at what other processes have ended: one look for all who wait."""

logger = logging.getLogger(__name__)


class EndWaiter:
    """For one event loop. Somebody must `keep_looking`."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._ends: dict[str, set[asyncio.Event]] = {}
        self._has_come = asyncio.Event()

    async def for_end(self, job: Job) -> None:
        """Returns when a job has ended, or is gone."""
        end = asyncio.Event()
        self._ends.setdefault(job.id, set()).add(end)
        self._has_come.set()
        try:
            await end.wait()
        finally:
            with suppress(KeyError):  # it was told
                self._ends[job.id].discard(end)
                if not self._ends[job.id]:
                    del self._ends[job.id]

    def tell(self, job_id: str) -> None:
        """A job may have ended in this process: it is looked up at once."""
        if job_id in self._ends:
            self._has_come.set()

    async def keep_looking(self, beat: Callable[[float], None]) -> None:
        """Until cancelled. While nobody waits, the database is not asked.

        Args:
            beat: called with the seconds within which it is called again.
        """
        while True:
            if not self._ends:  # some are left where a look failed
                beat(math.inf)
            else:
                self._has_come.set()
            await self._has_come.wait()
            self._has_come.clear()
            while self._ends:
                beat(HEARTBEAT_S)
                await self._look()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._has_come.wait(), LOOK_S)
                self._has_come.clear()

    async def _look(self) -> None:
        asked = set(self._ends)
        try:
            unfinished = await run_in_thread(lambda: self._store.unfinished(asked))
        except StoreError as error:
            logger.warning("ends of jobs cannot be looked up: %s", error)
            return
        for job_id in asked - unfinished:
            for end in self._ends.pop(job_id, ()):
                end.set()
