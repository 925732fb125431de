"""What a process does that works on jobs until it is killed."""

import asyncio
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dragoman import DecodingOptions, Translation
from dragoman.bundle import open_bundle
from service.accounts.accounts import Clock
from service.accounts.database import Database
from service.batch.pending_entries import ChunkLimits
from service.jobs import job_runner
from service.jobs.job_runner import JobRunner
from service.jobs.job_storage import JobStorage, ScratchFolder, open_blobs
from service.jobs.store import JobStore
from service.jobs.worker import JobWorkers
from service.translation.source_language import DetectionMode
from tests.service.conftest import TINY_BUNDLE, router_of
from tests.service.doubles import DoubleTranslator

LEASE = timedelta(minutes=1)
TEXT_S = 0.01
CHUNK_ENTRIES = 20


class NotingTranslator(DoubleTranslator):
    """Takes a hundredth of a second for each text, and notes it in a file, so that work can be counted."""

    def __init__(self, noted: Path) -> None:
        super().__init__(open_bundle(TINY_BUNDLE).manifest)
        self._noted = noted

    def _translate(self, text: str, options: DecodingOptions) -> Translation:
        time.sleep(TEXT_S)
        with self._noted.open("a", encoding="utf8") as noted:
            noted.write(text + "\n")
        return super()._translate(text, options)


def open_storage(url: str, files: Path, opened: ExitStack, ahead: timedelta) -> JobStorage:
    """Where jobs are kept, for one whose clock is ahead by so much."""
    database = Database.open(url)
    opened.callback(database.close)
    store = JobStore(database, clock=Clock(lambda: datetime.now(UTC) + ahead), lease_s=LEASE.total_seconds())
    return JobStorage(store, open_blobs(str(files)), ScratchFolder(opened))


def hold_folder(temporary: Path) -> None:
    """Hold a temporary folder with a file until killed."""
    tempfile.tempdir = str(temporary)
    with ExitStack() as opened:
        (ScratchFolder(opened).folder / "file").write_text("x", encoding="utf8")
        time.sleep(3600)


async def work(services: JobStorage, runner: JobRunner) -> None:
    """Until killed."""
    async with JobWorkers(services, runner, jobs_at_a_time=1, poll_s=0.1).working():
        await asyncio.sleep(3600)


def main(url: str, files: Path, ahead: timedelta) -> None:
    """Work on the jobs of a database; each text is noted in `translated` beside their files."""
    job_runner.CHUNKS = ChunkLimits(CHUNK_ENTRIES)
    with ExitStack() as opened:
        services = open_storage(url, files, opened, ahead)
        router = opened.enter_context(router_of(NotingTranslator(files / "translated"), TINY_BUNDLE))
        asyncio.run(work(services, JobRunner(router, services.store.database, DetectionMode.OFF, 8)))
