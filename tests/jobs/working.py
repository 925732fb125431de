"""A process that works on jobs until it is killed: `python -m tests.jobs.working DATABASE_URL FILES`.

Its translator makes upper case, a hundredth of a second for each text, and notes each in `translated`.
"""

import asyncio
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

from dragoman.decoding.options import DecodingOptions
from dragoman.routing.router import Router
from dragoman.types import Pair
from service.accounts.database import Database
from service.batch.texts import EntryTranslator, Outcome, Translated
from service.formats.entries import Entry
from service.jobs.job import Job
from service.jobs.job_runner import JobRunner
from service.jobs.job_storage import JobStorage, ScratchFolder, open_blobs
from service.jobs.store import JobStore
from service.jobs.worker import JobWorkers
from service.translation.source_language import DetectionMode

TINY_BUNDLE = Path(__file__).resolve().parents[1] / "tiny" / "bundle-int8"
LEASE_S = 2.0
TEXT_S = 0.01


class Noting:
    """An `EntryTranslator` whose work can be counted afterwards."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def translate(self, entries: Iterable[Entry]) -> Iterator[Outcome]:
        """Upper case."""
        for entry in entries:
            time.sleep(TEXT_S)
            with self._path.open("a", encoding="utf8") as noted:
                noted.write(entry.text + "\n")
            yield Translated(entry.text.upper())


class NotingRunner(JobRunner):
    """A runner with that for a translator."""

    def _translator(self, pair: Pair, job: Job, options: DecodingOptions) -> EntryTranslator:
        del pair, job, options
        return Noting(Path(sys.argv[2]) / "translated")


def open_storage(url: str, files: Path, opened: ExitStack) -> JobStorage:
    """Where jobs are kept, on short leases."""
    database = Database.open(url)
    opened.callback(database.close)
    return JobStorage(
        JobStore(database, lease_s=LEASE_S), open_blobs(str(files)), ScratchFolder(opened), None
    )


async def work(services: JobStorage, runner: JobRunner) -> None:
    """Until killed."""
    async with JobWorkers(services, runner, jobs_at_a_time=1, poll_s=0.1).working():
        await asyncio.sleep(3600)


def main() -> None:
    """See above."""
    with ExitStack() as opened:
        services = open_storage(sys.argv[1], Path(sys.argv[2]), opened)
        router = opened.enter_context(Router.open({"tiny": TINY_BUNDLE}))
        runner = NotingRunner(router, services.store.database, DetectionMode.OFF, 8)
        asyncio.run(work(services, runner))


if __name__ == "__main__":
    main()
