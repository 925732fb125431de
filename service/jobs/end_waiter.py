"""Waiting for the end of a job, whichever process runs it."""

import asyncio
import logging
import math
from collections.abc import Callable
from contextlib import suppress

from service.accounts.errors import StoreError
from service.jobs.job import Job
from service.jobs.store import JobStore
from service.telemetry.counters import HEARTBEAT_S
from service.work.threads import run_in_thread

LOOK_S = 0.2
"""Seconds between two polls for jobs that other processes have ended; one poll serves all waiters."""

logger = logging.getLogger(__name__)


class EndWaiter:
    """Lets callers wait for the ends of jobs, on one event loop. `poll` must be running."""

    def __init__(self, store: JobStore) -> None:
        self._store = store
        self._ends: dict[str, set[asyncio.Event]] = {}
        self._wake = asyncio.Event()

    async def wait_for_end(self, job: Job) -> None:
        """Wait until a job has ended or is deleted."""
        end = asyncio.Event()
        self._ends.setdefault(job.id, set()).add(end)
        self._wake.set()
        try:
            await end.wait()
        finally:
            with suppress(KeyError):  # the poll has already removed it
                self._ends[job.id].discard(end)
                if not self._ends[job.id]:
                    del self._ends[job.id]

    def notify(self, job_id: str) -> None:
        """Look a job up at once, as it may have ended in this process."""
        if job_id in self._ends:
            self._wake.set()

    async def poll(self, beat: Callable[[float], None]) -> None:
        """Poll for ended jobs until cancelled. While nobody waits, send no queries.

        Args:
            beat: called with the number of seconds within which it is called again.
        """
        while True:
            if not self._ends:  # waiters are left over if an earlier run of this loop failed
                beat(math.inf)
            else:
                self._wake.set()
            await self._wake.wait()
            self._wake.clear()
            while self._ends:
                beat(HEARTBEAT_S)
                await self._look()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), LOOK_S)
                self._wake.clear()

    async def _look(self) -> None:
        requested = set(self._ends)
        try:
            unfinished = await run_in_thread(lambda: self._store.filter_unfinished(requested))
        except StoreError as error:
            logger.warning("cannot look up which jobs have ended: %s", error)
            return
        for job_id in requested - unfinished:
            for end in self._ends.pop(job_id, ()):
                end.set()
