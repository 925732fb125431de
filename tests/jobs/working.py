"""What a process does that works on jobs until it is killed.

Its translator makes upper case, a hundredth of a second for each text, and notes each in `translated`.
"""

import asyncio
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

from dragoman.routing.router import Router
from dragoman.types import Pair
from service.accounts.accounts import Clock
from service.accounts.database import Database
from service.batch.pending_entries import ChunkLimits
from service.batch.texts import EntryTranslator
from service.formats.entries import Entry
from service.jobs import job_runner
from service.jobs.job import Job
from service.jobs.job_runner import JobRunner
from service.jobs.job_storage import JobStorage, ScratchFolder, open_blobs
from service.jobs.store import JobStore
from service.jobs.worker import JobWorkers
from service.text.outcome import TextOutcome
from service.translation.options import TranslationOptions
from service.translation.source_language import DetectionMode

TINY_BUNDLE = Path(__file__).resolve().parents[1] / "tiny" / "bundle-int8"
LEASE = timedelta(minutes=1)
TEXT_S = 0.01
CHUNK_ENTRIES = 20


class Noting:
    """An `EntryTranslator` whose work can be counted afterwards."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def translate(self, entries: Iterable[Entry]) -> Iterator[TextOutcome]:
        """Upper case."""
        for entry in entries:
            time.sleep(TEXT_S)
            with self._path.open("a", encoding="utf8") as noted:
                noted.write(entry.text + "\n")
            yield TextOutcome(replace(entry.marked, text=entry.text.upper()))


@dataclass(frozen=True, slots=True)
class NotingRunner(JobRunner):
    """A runner with that for a translator."""

    translated: Path = Path("translated")

    def _translator(self, pair: Pair, job: Job, options: TranslationOptions, stop: Event) -> EntryTranslator:
        del pair, job, options, stop
        return Noting(self.translated)


def open_storage(url: str, files: Path, opened: ExitStack, ahead: timedelta) -> JobStorage:
    """Where jobs are kept, for one whose clock is ahead by so much."""
    database = Database.open(url)
    opened.callback(database.close)
    store = JobStore(database, clock=Clock(lambda: datetime.now(UTC) + ahead), lease_s=LEASE.total_seconds())
    return JobStorage(store, open_blobs(str(files)), ScratchFolder(opened), None)


async def work(services: JobStorage, runner: JobRunner) -> None:
    """Until killed."""
    async with JobWorkers(services, runner, jobs_at_a_time=1, poll_s=0.1).working():
        await asyncio.sleep(3600)


def main(url: str, files: Path, ahead: timedelta) -> None:
    """See above."""
    job_runner.CHUNKS = ChunkLimits(CHUNK_ENTRIES)
    with ExitStack() as opened:
        services = open_storage(url, files, opened, ahead)
        router = opened.enter_context(Router.open({"tiny": TINY_BUNDLE}))
        database, translated = services.store.database, files / "translated"
        runner = NotingRunner(router, database, DetectionMode.OFF, 8, translated=translated)
        asyncio.run(work(services, runner))
