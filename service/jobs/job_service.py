"""The use cases of jobs that all APIs share: add, look up, cancel and remove."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import TypeVar

import anyio

from dragoman.errors import InputError
from dragoman.pipeline.resolution import unknown_formality
from dragoman.types import Formality, Pair
from service.accounts.keys import Caller
from service.batch.errors import BatchStopped, InputProblem
from service.batch.files import Survey
from service.formats.entries import FileFormatError
from service.formats.limits import FileLimits
from service.glossaries.terminology import RequestTerminology
from service.jobs.errors import FileRejected, FilesUnavailable
from service.jobs.job import Job, JobOutcome, JobRequest, JobState, NewJob, new_job_id
from service.jobs.job_runner import RESULT, JobRunner, keep, remove, remove_files
from service.jobs.job_storage import JobStorage
from service.jobs.worker import INPUT, TERMS, JobWorkers
from service.models.engine import translator_options
from service.settings.settings import Settings
from service.telemetry.counters import WorkerCounters
from service.translation.memory import pair_of_texts
from service.translation.terms import check_route
from service.translation.translation_service import TranslationService
from service.work.file_work import FileUnreadable, FileWork
from service.work.threads import run_in_thread

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A received file, with its job request."""

    path: Path
    job_request: JobRequest
    document_key_sha256: str | None = None
    """Hash of the document key; None if the file is not a document."""
    terms: RequestTerminology | None = None
    """Terms to store with the job, so that later changes of a glossary have no effect on it."""


@dataclass(slots=True, eq=False)
class JobService:
    """Adds, looks up, cancels and removes jobs, on one event loop. Methods raise ServiceError."""

    storage: JobStorage
    workers: JobWorkers
    runner: JobRunner
    file_work: FileWork

    @asynccontextmanager
    async def folder(self) -> AsyncIterator[Path]:
        """Create a temporary folder for an upload, and remove it when the block ends."""
        made: list[TemporaryDirectory[str]] = []  # filled although the request may be cancelled meanwhile
        try:
            await run_storage_call(lambda: made.append(TemporaryDirectory(dir=self.storage.scratch.folder)))
            yield Path(made[0].name)
        finally:
            for one in made:
                with anyio.CancelScope(shield=True):
                    await run_in_thread(one.cleanup)

    def require_pair(self, job_request: JobRequest, terms: RequestTerminology | None = None) -> None:
        """Reject a request that would fail for any file.

        Raises:
            InputError: no model serves the pair, detection of the source is requested but not possible, no
                model knows the requested forms of address, or the terms are not for the pair.
        """
        router, options = self.runner.router, job_request.options
        formality = options.decoding.formality
        if self.runner.detection.is_wanted(job_request.source):
            router.routes.sources_of(job_request.target, options.model)
            if job_request.target is None and len(router.routes.targets()) > 1:
                raise InputError("target", "name the language to translate into")
        else:
            route = router.route(job_request.source, job_request.target, options.model)
            if formality in {Formality.FORMAL, Formality.INFORMAL} and not route.knows_formality:
                raise unknown_formality(formality, route.pair.target)
            check_route(terms, route)

    async def apply_memory(self, job_request: JobRequest, caller: Caller) -> JobRequest:
        """Return a request with the languages of its memory, unless it names its own.

        Raises:
            UnknownMemory: the caller has no such memory.
            MemoryInvalid: it is for other languages.
        """
        if job_request.memory_id is None:
            return job_request
        memory_id = job_request.memory_id
        memory = await run_storage_call(lambda: self.runner.memories.get(caller.key_id, memory_id))
        pair = pair_of_texts(memory, job_request.source, job_request.target)
        return replace(job_request, source=pair.source, target=pair.target)

    async def add(self, upload: UploadedFile, caller: Caller) -> Job:
        """Check a file by reading all of it, then add a job and charge for it.

        Raises:
            FileRejected: the file cannot be translated.
            QuotaExceeded: the caller has fewer characters left.
        """
        counts, pair = await self._check(upload, caller)
        checked = replace(upload, job_request=_fix_languages(upload.job_request, pair))
        job = await run_storage_call(lambda: self._store_job(checked, caller, counts))
        self.workers.wake()
        return job

    async def add_ended(self, upload: UploadedFile, caller: Caller, ending: JobOutcome) -> Job:
        """Add a job that has already ended, without a charge. If it is done, the file sent is its result."""
        return await run_storage_call(lambda: self._store_ended_job(upload, caller, ending))

    async def is_in_target(self, upload: UploadedFile, caller: Caller) -> bool:
        """Return whether a file's detected language is its target language.

        Return False for a file that cannot be read, which `add` rejects.
        """

        def look(runner: JobRunner, stop: Event) -> bool:
            with suppress(FileFormatError, InputProblem, InputError):
                return runner.is_in_target(upload.job_request, upload.path, stop)
            return False

        return await self._run(upload, caller, look)

    async def cancel(self, job: Job) -> Job:
        """Cancel a job; a job that has ended stays as it is."""
        job = await run_storage_call(lambda: self.storage.store.cancel(job))
        if job.state is JobState.CANCELLED:  # it was queued, so no worker will remove its files
            await run_storage_call(lambda: remove_files(self.storage, self.runner, job))
        return job

    async def remove(self, job: Job) -> None:
        """Delete a job that has ended, and its files."""
        await run_storage_call(lambda: remove(self.storage, self.runner, job))

    async def _check(self, upload: UploadedFile, caller: Caller) -> tuple[Survey, Pair | None]:
        name = upload.job_request.file_name
        try:
            return await self._run(
                upload, caller, lambda runner, stop: runner.check(upload.job_request, upload.path, stop)
            )
        except FileFormatError as error:
            raise FileRejected(name, error.problem) from error
        except InputProblem as error:
            raise FileRejected(name, "; ".join(problem for _, problem in error.problems)) from error

    async def _run(
        self, upload: UploadedFile, caller: Caller, work: Callable[[JobRunner, Event], Result]
    ) -> Result:
        """Run work on a file in the caller's share. If the calling task is cancelled, the work stops."""

        def run(limits: FileLimits | None, stop: Event) -> Result:
            return work(replace(self.runner, limits=limits), stop)

        try:
            return await self.file_work.run(caller, upload.path.stat().st_size, run)
        except BatchStopped as error:
            raise FileUnreadable from error

    def _store_job(self, upload: UploadedFile, caller: Caller, counts: Survey) -> Job:
        new = self._new_job(upload, caller, counts)
        terms = None if upload.terms is None else _terms_file(upload.path, upload.terms)
        if terms is not None:
            new = replace(new, input_size_bytes=new.input_size_bytes + terms.stat().st_size)
        with self._stored_blob(new.id, INPUT, upload.path):
            if terms is not None:
                self.storage.blobs.put(f"{new.id}/{TERMS}", terms)
            return self.storage.store.add(new, caller.limits.characters_per_month)

    def _store_ended_job(self, upload: UploadedFile, caller: Caller, ending: JobOutcome) -> Job:
        new = self._new_job(upload, caller, None)
        if ending.state is not JobState.DONE:
            return self.storage.store.add_ended(new, ending)
        result = keep(f"{new.id}/{RESULT}", upload.path)
        with self._stored_blob(new.id, RESULT, upload.path):
            return self.storage.store.add_ended(new, replace(ending, result=result))

    def _new_job(self, upload: UploadedFile, caller: Caller, counts: Survey | None) -> NewJob:
        return NewJob(
            new_job_id(self.storage.store.clock.now()),
            caller.key_id,
            upload.job_request,
            upload.path.stat().st_size,
            0 if counts is None else counts.num_entries,
            0 if counts is None else counts.num_characters,
            upload.document_key_sha256,
            None if upload.terms is None else upload.terms.num_terms,
        )

    @contextmanager
    def _stored_blob(self, job_id: str, name: str, path: Path) -> Iterator[None]:
        """Store a file, and remove it again if the block raises."""
        blobs = self.storage.blobs
        blobs.put(f"{job_id}/{name}", path)
        try:
            yield
        except BaseException:
            blobs.remove(job_id)
            raise


def open_job_service(
    storage: JobStorage,
    translation_service: TranslationService,
    file_work: FileWork,
    settings: Settings,
    counters: WorkerCounters,
) -> JobService:
    """Return the service that all APIs submit files to. Its workers run only within `JobWorkers.working`."""
    database = storage.store.database
    runner = JobRunner(
        translation_service.inference.router,
        database,
        translation_service.detection,
        settings.job_texts,
        translator_options(settings),
        translation_service.cache_sharing,
        file_work.limits,
    )
    workers = JobWorkers(storage, runner, settings.jobs_at_a_time, counters)
    return JobService(storage, workers, runner, file_work)


def _terms_file(path: Path, terms: RequestTerminology) -> Path:
    """Write terms to a file next to the uploaded one."""
    file = path.with_name(f"{path.name}-{TERMS}")
    file.write_text(terms.to_json(), encoding="utf-8")
    return file


def _fix_languages(job_request: JobRequest, pair: Pair | None) -> JobRequest:
    """Fix the languages to those used for the charge, even if models change before the job runs."""
    if pair is None or pair.source == pair.target:  # such a file is returned unchanged
        return job_request
    return replace(job_request, source=pair.source, target=pair.target)


async def run_storage_call(ask: Callable[[], Result]) -> Result:
    """Run a call to the database or the blob store on a thread; an OSError becomes FilesUnavailable."""
    try:
        return await run_in_thread(ask)
    except OSError as error:
        raise FilesUnavailable from error
