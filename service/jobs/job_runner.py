"""Translation of one job, from its file to its result. A worker runs this on a thread."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event

from dragoman.bundle import file_sha256
from dragoman.errors import InputError
from dragoman.pipeline.pacing import LARGE_CHARACTERS, pause_of
from dragoman.routing.options import DEFAULT_TRANSLATORS, TranslatorOptions
from dragoman.routing.router import Router
from dragoman.scheduling.fair_queue import Flow
from dragoman.translator import JOB_REQUEST
from dragoman.types import Pair
from service.accounts.database import Database
from service.batch.entry_translator import translator_for
from service.batch.errors import JournalDamaged, OtherJob
from service.batch.files import JobFile, Survey, read_entries, survey
from service.batch.journal import Journal
from service.batch.memory_translator import MemoryTranslator
from service.batch.pending_entries import ChunkLimits
from service.batch.planning import read_beginning
from service.batch.progress import BatchProgress, BatchReport
from service.batch.run import BatchJob, run_job, translator_facts
from service.batch.texts import EntryTranslator
from service.formats.entries import FileOptions
from service.formats.limits import FileLimits
from service.formats.registry import depends_on_languages, open_format
from service.glossaries.terminology import RequestTerminology
from service.jobs.errors import UnknownJob
from service.jobs.job import ClaimKind, Job, JobRequest, RunProgress, StoredFile
from service.jobs.job_storage import JobStorage
from service.memories.errors import MemoryInvalid, UnknownMemory
from service.memories.memory_service import exact_targets
from service.memories.repair import repairer
from service.memories.store import Memory, MemoryStore
from service.translation.cache_partitions import CachePartitioning
from service.translation.options import TranslationOptions
from service.translation.request import UNDETERMINED
from service.translation.source_language import DetectionMode, ResolvedSource, resolve_source

CHUNKS = ChunkLimits(entries=200, seconds=1.0)
"""Bounds on what is lost when a worker dies, and on how long a cancelled job still runs."""
MAX_KEPT_ENTRIES, MAX_KEPT_CHARACTERS = 1000, 100_000
"""Size of a file up to which its entries are kept in memory: to read one anew takes a new process."""
UNKNOWN = Pair("und", "und")
"""Languages of a file that is only read, not translated."""
RESULT, ERRORS = "result", "errors.jsonl"
"""Names of the files of a job's output; there is none of errors if all entries are translated."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TimeSlices:
    """Length of a job's turn, after which it is interrupted if another key's job waits."""

    first_s: float = 10.0
    """Seconds with a worker for keys of which no job is running."""
    further_s: float = 60.0
    """Seconds of translation with any other worker."""


class ProgressReporter:
    """Progress of a job, written by the job's thread and read by another."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._began: tuple[float, int] | None = None
        self._claimed_s = monotonic()
        self._first_translated_s: float | None = None
        self.progress = RunProgress(0, 0)

    def is_turn_over(self, claimed: ClaimKind, slices: TimeSlices) -> bool:
        """Return whether the job has had its turn, and must be interrupted if another job waits.

        Args:
            claimed: kind of jobs that the worker claims.
            slices: length of a turn. Except in the first one, a job translates at least as long as it took to
                begin, as the next worker reads its file again.
        """
        now_s = self._monotonic()
        if claimed is ClaimKind.FIRST_OF_KEY:
            return now_s - self._claimed_s >= slices.first_s
        if (first_s := self._first_translated_s) is None:
            return False
        return now_s - first_s >= max(slices.further_s, first_s - self._claimed_s)

    def set_source(self, language: str) -> None:
        """Record the detected language of the file."""
        self.progress = replace(self.progress, detected_source=language)

    def update(self, progress: BatchProgress) -> None:
        """Record progress. The rate excludes what an earlier worker translated."""
        now_s = self._monotonic()
        if progress.num_translated and self._first_translated_s is None:
            self._first_translated_s = now_s
        if self._began is None:
            self._began = now_s, progress.num_done
        began_s, num_before = self._began
        rate = (progress.num_done - num_before) / (now_s - began_s) if now_s > began_s else None
        source = self.progress.detected_source
        self.progress = RunProgress(progress.num_done, progress.num_failed, rate or None, source)


@dataclass(frozen=True, slots=True)
class JobRunner:
    """Runs jobs on an engine, with their journals in a database."""

    router: Router
    database: Database
    detection: DetectionMode
    max_texts: int
    """Maximum number of a job's texts in the engine at a time."""
    translators: TranslatorOptions = DEFAULT_TRANSLATORS
    """Options with which the router opens models."""
    cache_sharing: CachePartitioning = CachePartitioning.PER_KEY
    limits: FileLimits | None = None
    """Limits of file processing; None to read files in this process."""

    def check(self, job_request: JobRequest, source: Path, stop: Event) -> tuple[Survey, Pair | None]:
        """Read a whole file, so that a file that cannot be translated is rejected before it is queued.

        Return its size, and the languages that it was read in if its content depends on them.

        Raises:
            FileFormatError: its name has no known format, or an option does not fit the format.
            InputProblem: it does not match its name, is damaged, is unsafe or exceeds a limit.
            InputError: its content depends on its languages, and these cannot be determined.
            BatchStopped: `stop` was set, or the process that reads the file was stopped.
        """
        pair = self._pair(job_request, source, stop) if depends_on_languages(job_request.file_name) else None
        return survey(self._job_file(job_request, source, pair or UNKNOWN, stop), stop), pair

    def run(
        self,
        job: Job,
        source: Path,
        folder: Path,
        progress_reporter: ProgressReporter,
        stop: Event,
        terms: RequestTerminology | None = None,
    ) -> BatchReport:
        """Translate a job's file to `RESULT` and `ERRORS`, and resume where an earlier worker stopped.

        Args:
            job: the job.
            source: its file.
            folder: folder of the output; nobody else writes there.
            progress_reporter: receives the progress.
            stop: set to end the job soon.
            terms: terms as they were when the job was added.

        Raises:
            BatchError: see `run_job`; what was translated is kept.
            InputError: no model translates this.
            DragomanError: the engine failed.
            StoreError: the journal's database failed.
        """
        pair = self._pair(job.job_request, source, stop)
        if self.detection.is_wanted(job.job_request.source):
            progress_reporter.set_source(pair.source)
        file = self._job_file(job.job_request, source, pair, stop, folder / RESULT)
        if job.num_entries <= MAX_KEPT_ENTRIES and job.num_characters <= MAX_KEPT_CHARACTERS:
            file = replace(file, entries=tuple(read_entries(file)))
        journal = self.journal(job.id)
        options = job.job_request.options
        if terms is not None and pair.source != pair.target:
            options = options.with_terms(terms.select(pair))
        facts = translator_facts(self.router, [pair], options, self.translators)
        memory = self._memory(job, pair)
        if memory is not None:
            threshold = job.job_request.memory_threshold
            facts["memory"] = f"{memory.id}, version {memory.version}, threshold {threshold:g}"
        batch = BatchJob((file,), facts, folder / ERRORS, options, CHUNKS)

        def run() -> BatchReport:
            return run_job(
                batch,
                lambda pair: self._with_memory(self._translator(pair, job, options, stop), job, memory, stop),
                journal,
                on_progress=progress_reporter.update,
                stop=stop,
            )

        try:
            return run()
        except (OtherJob, JournalDamaged) as error:
            # Translations of two models must not be mixed, and a damaged journal must not be trusted.
            logger.warning("job %s starts again from the beginning: %s", job.id, error)
            journal.forget()
            return run()

    def _translator(self, pair: Pair, job: Job, options: TranslationOptions, stop: Event) -> EntryTranslator:
        return translator_for(
            self.router,
            pair,
            options,
            read_ahead=self.max_texts,
            request=replace(
                JOB_REQUEST,
                flow=Flow(job.key_id),
                cache_partition=self.cache_sharing.partition_of(job.key_id),
                is_cancelled=stop.is_set,
            ),
        )

    @property
    def memories(self) -> MemoryStore:
        """The translation memories of all keys."""
        return MemoryStore(self.database)

    def _memory(self, job: Job, pair: Pair) -> Memory | None:
        """Return the memory of a job, if it has one and something is to be translated. Raises InputError."""
        memory_id = job.job_request.memory_id
        if memory_id is None or pair.source == pair.target:
            return None
        try:
            memory = self.memories.get(job.key_id, memory_id)
            memory.check_pair(*pair)
        except UnknownMemory as error:
            raise InputError("memory", str(error)) from error
        except MemoryInvalid as error:
            raise InputError(error.field, error.problem) from error
        return memory

    def _with_memory(
        self, translator: EntryTranslator, job: Job, memory: Memory | None, stop: Event
    ) -> EntryTranslator:
        if memory is None:
            return translator
        repair = repairer(
            self.memories.read_pairs(memory.id),
            job.job_request.memory_threshold,
            memory.pair,
            pause_of(LARGE_CHARACTERS, stop.is_set),
        )
        return MemoryTranslator(translator, partial(exact_targets, self.memories, memory.id), repair)

    def journal(self, job_id: str) -> Journal:
        """Return the journal of one job."""
        return Journal(self.database, job_id)

    def is_in_target(self, job_request: JobRequest, source: Path, stop: Event) -> bool:
        """Return whether the detected language of a file is its target language.

        Raises:
            InputError: no model translates this.
            BatchError: the file cannot be read, or `stop` was set.
        """
        if not self.detection.is_wanted(job_request.source):
            return False
        resolved = self._find_source(job_request, source, stop)
        return resolved.language is None and resolved.detected.language != UNDETERMINED

    def _pair(self, job_request: JobRequest, source: Path, stop: Event) -> Pair:
        """Return the job's languages; the same code twice if there is nothing to translate."""
        if not self.detection.is_wanted(job_request.source):
            return self.router.route(job_request.source, job_request.target, job_request.options.model).pair
        resolved = self._find_source(job_request, source, stop)
        return Pair(resolved.language or resolved.target, resolved.target)

    def _find_source(self, job_request: JobRequest, source: Path, stop: Event) -> ResolvedSource:
        undetermined = Pair(UNKNOWN.source, job_request.target or UNKNOWN.target)
        file = self._job_file(job_request, source, undetermined, stop)
        return resolve_source(
            read_beginning(file), job_request.target, job_request.options.model, self.router.routes
        )

    def _job_file(
        self, job_request: JobRequest, source: Path, pair: Pair, stop: Event, target: Path | None = None
    ) -> JobFile:
        """Return a job's file as batch jobs have it; without a target it is only read."""
        columns, output = job_request.columns, job_request.output
        options = FileOptions(pair.source, pair.target, columns, output, job_request.join_lines)
        opened = open_format(job_request.file_name, options, self.limits, stop)
        return JobFile(job_request.file_name, source, target or source, opened, pair)


def keep(blob: str, file: Path) -> StoredFile:
    """Return the metadata to record for a file that is stored under the name `blob`."""
    return StoredFile(blob, file.stat().st_size, file_sha256(file))


def sweep(storage: JobStorage, runner: JobRunner, note_progress: Callable[[], None] = lambda: None) -> None:
    """Remove expired jobs, and files that belong to no job.

    Files that cannot be removed are logged; the next sweep tries again.

    Args:
        storage: the jobs and their files.
        runner: finds their journals.
        note_progress: called for each job.

    Raises:
        StoreError: the database cannot be used.
        OSError: the store of files cannot be listed.
    """
    while over := storage.store.expired():
        for job in over:
            note_progress()
            with _logging_failures(job.id):
                remove(storage, runner, job)
    old = {job_id for job_id in storage.blobs.jobs() if storage.store.is_old(job_id)}
    for job_id in old - storage.store.known(old):
        note_progress()
        with _logging_failures(job_id):
            storage.blobs.remove(job_id)


@contextmanager
def _logging_failures(job_id: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        logger.error("cannot remove the files of job %s: %s", job_id, error)  # noqa: TRY400 -- a traceback adds nothing


def remove(storage: JobStorage, runner: JobRunner, job: Job) -> None:
    """Delete a job that has ended, and its files."""
    with suppress(UnknownJob):  # another process has just removed it
        storage.store.remove(job)
    remove_files(storage, runner, job)


def remove_files(storage: JobStorage, runner: JobRunner, job: Job) -> None:
    """Remove the journal and the files of a job, but not its row."""
    runner.journal(job.id).forget()
    storage.blobs.remove(job.id)
