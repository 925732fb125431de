"""One job from its file to its result, on a thread: what the worker of jobs has done."""

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event

from dragoman.routing.router import Router
from dragoman.types import Pair
from service.accounts.database import Database
from service.batch.entry_translator import BATCH, RoutedEntries, Unchanged
from service.batch.errors import JournalDamaged, OtherJob
from service.batch.files import JobFile, read_entries, survey
from service.batch.fingerprint import translator_facts
from service.batch.journal import Journal
from service.batch.lookup import look_up
from service.batch.output_files import first_failure
from service.batch.pending_entries import Chunks
from service.batch.planning import beginning_of
from service.batch.progress import BatchProgress, BatchReport
from service.batch.run import Job as BatchJob
from service.batch.run import run_job
from service.batch.texts import EntryTranslator, Translated
from service.formats.entries import FileOptions
from service.formats.known import depends_on_languages, open_format
from service.formats.limits import FileLimits
from service.jobs.job import Job, JobRequest, Kept, RunProgress
from service.translation.cache_partitions import CachePartitioning
from service.translation.request import UNDETERMINED
from service.translation.source_language import DetectionMode, ResolvedSource, resolve_source

CHUNKS = Chunks(entries=200, seconds=1.0)
"""What is lost of a worker that dies, and how soon one that is cancelled ends."""
UNKNOWN = Pair("und", "und")
"""Languages of a file that is only read."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EntryCounts:
    """What is in a file."""

    num_entries: int
    num_characters: int
    pair: Pair | None = None
    """Languages that it was counted with, where they decide what is in it; None where they don't."""


@dataclass(frozen=True, slots=True)
class Finished:
    """Files that came of a job, in the worker's folder."""

    result: Path
    errors: Path | None
    num_failed: int
    first_failure: str | None
    """Where the first entry stands that could not be translated, and why."""
    refund_characters: int
    """Of entries that could not be translated."""


class ProgressReporter:
    """How far a job is, written by its thread and read by another."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._began: tuple[float, int] | None = None
        self.progress = RunProgress(0, 0)

    def tell_source(self, language: str) -> None:
        """What the file turned out to be in."""
        self.progress = replace(self.progress, detected_source=language)

    def tell(self, progress: BatchProgress) -> None:
        """The rate is of what was translated here, and not of what a worker before had done."""
        now_s = self._monotonic()
        if self._began is None:
            self._began = now_s, progress.num_done
        began_s, num_before = self._began
        rate = (progress.num_done - num_before) / (now_s - began_s) if now_s > began_s else None
        found = self.progress.detected_source
        self.progress = RunProgress(progress.num_done, progress.num_failed, rate or None, found)


@dataclass(frozen=True, slots=True)
class JobRunner:
    """Runs jobs through an engine, with their journals in a database."""

    router: Router
    database: Database
    detection: DetectionMode
    max_texts: int
    """Of a job in the engine at a time."""
    providers: str = "cpu"
    """What models run on, as the settings have it."""
    cache_sharing: CachePartitioning = CachePartitioning.PER_KEY
    limits: FileLimits | None = None
    """What reading a file may cost; None to read files in this process."""

    def check(self, job_request: JobRequest, source: Path, stop: Event) -> EntryCounts:
        """Read a file from end to end, so that one that cannot be translated is rejected before it waits.

        Raises:
            FileProblem: its name tells no known format, or an option is not for it.
            InputProblem: it is not what its name says, is damaged, is unsafe or exceeds a limit.
            InputError: its languages decide what is in it, and cannot be found.
            BatchStopped: `stop` was set, or the process that reads it was stopped.
        """
        pair = self._pair(job_request, source) if depends_on_languages(job_request.file_name) else None
        found = survey(_job_file(job_request, source, source, pair or UNKNOWN, self.limits), stop)
        return EntryCounts(found.num_entries, found.num_characters, pair)

    def run(
        self, job: Job, source: Path, folder: Path, progress_reporter: ProgressReporter, stop: Event
    ) -> Finished:
        """Translate a job's file, going on where a worker before was.

        Args:
            job: what is wanted.
            source: its file.
            folder: where the result goes; nobody else writes there.
            progress_reporter: is told how far it is.
            stop: set to have it end soon.

        Raises:
            BatchError: see `run_job`; what was translated is kept.
            InputError: nothing translates this.
            DragomanError: the engine failed.
            StoreError: the journal's database did.
        """
        pair = self._pair(job.job_request, source)
        if self.detection.is_wanted(job.job_request.source):
            progress_reporter.tell_source(pair.source)
        file = _job_file(job.job_request, source, folder / "result", pair, self.limits)
        errors = folder / "errors.jsonl"
        journal = self.journal(job.id)
        facts = translator_facts(self.router, [pair], BATCH, job.job_request.model, self.providers)
        batch = BatchJob((file,), facts, errors, job.job_request.on_failure, CHUNKS)

        def run() -> BatchReport:
            return run_job(
                batch,
                lambda pair: self._translator(pair, job),
                journal,
                on_progress=progress_reporter.tell,
                stop=stop,
            )

        try:
            report = run()
        except (OtherJob, JournalDamaged) as error:
            # Translations of two models must not be mixed, and damaged ones not be trusted.
            logger.warning("job %s begins anew: %s", job.id, error)
            journal.forget()
            report = run()
        refund = 0
        if report.num_failed:
            refund = job.num_characters - _translated_characters(file, journal)
        kept = errors if errors.is_file() else None
        return Finished(file.target, kept, report.num_failed, first_failure(errors), max(refund, 0))

    def translated_characters(self, job: Job, source: Path) -> int:
        """Of the entries of a job that was not finished, those that were translated.

        Raises:
            InputError: nothing translates this any more.
            BatchError: the file cannot be read.
            StoreError: the database cannot be used.
        """
        pair = self._pair(job.job_request, source)
        file = _job_file(job.job_request, source, source, pair, self.limits)
        return _translated_characters(file, self.journal(job.id))

    def journal(self, job_id: str) -> Journal:
        """A job's own."""
        return Journal(self.database, job_id)

    def is_in_target(self, job_request: JobRequest, source: Path) -> bool:
        """Whether the language found in a file is the one that it is to be translated into.

        Raises:
            InputError: nothing translates this.
            BatchError: the file cannot be read.
        """
        if not self.detection.is_wanted(job_request.source):
            return False
        found = self._find_source(job_request, source)
        return found.language is None and found.detected.language != UNDETERMINED

    def _pair(self, job_request: JobRequest, source: Path) -> Pair:
        """Languages by their codes; the same twice where there is nothing to do."""
        if not self.detection.is_wanted(job_request.source):
            return self.router.route(job_request.source, job_request.target, job_request.model).pair
        found = self._find_source(job_request, source)
        return Pair(found.language or found.target, found.target)

    def _find_source(self, job_request: JobRequest, source: Path) -> ResolvedSource:
        undetermined = Pair(UNKNOWN.source, job_request.target or UNKNOWN.target)
        file = _job_file(job_request, source, source, undetermined, self.limits)
        return resolve_source(beginning_of(file), job_request.target, job_request.model, self.router.routes)

    def _translator(self, pair: Pair, job: Job) -> EntryTranslator:
        if pair.source == pair.target:
            return Unchanged()
        return RoutedEntries(
            self.router,
            pair.source,
            pair.target,
            model=job.job_request.model,
            read_ahead=self.max_texts,
            cache_partition=self.cache_sharing.partition_of(job.key_id),
        )


def keep(blob: str, file: Path) -> Kept:
    """What is told of a file that is kept under this name."""
    with file.open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return Kept(blob, file.stat().st_size, digest)


def _job_file(
    job_request: JobRequest, source: Path, target: Path, pair: Pair, limits: FileLimits | None
) -> JobFile:
    opened = open_format(
        job_request.file_name, FileOptions(pair.source, pair.target, job_request.columns), limits
    )
    return JobFile(job_request.file_name, source, target, opened, pair)


def _translated_characters(file: JobFile, journal: Journal) -> int:
    return sum(
        len(entry.text)
        for window in look_up(journal, read_entries(file), file.pair)
        for _, entry, outcome in window
        if isinstance(outcome, Translated)
    )
