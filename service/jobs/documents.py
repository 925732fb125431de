"""Documents: jobs that are accessible with the document key only."""

import hashlib
import hmac
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from shutil import copyfileobj
from typing import BinaryIO, TypeVar

import anyio

from service.accounts.keys import Caller
from service.glossaries.terminology import RequestTerminology
from service.jobs.errors import DocumentNotReady, NoResult, UnknownDocument, UnknownJob
from service.jobs.file_stream import begin, read_on_threads
from service.jobs.job import UNCHANGED, Job, JobOutcome, JobRequest, JobState, is_job_id
from service.jobs.job_runner import remove_files
from service.jobs.job_service import JobService, UploadedFile, run_storage_call
from service.work.threads import run_in_thread

UPLOAD_NAME = "sent"
DOCUMENT_KEY_BYTES = 32
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class AcceptedDocument:
    """A document that was accepted, with its key."""

    job: Job
    document_key: str


class DocumentService:
    """Adds, finds and reads documents through a `JobService`. Errors are the same as there."""

    def __init__(self, job_service: JobService) -> None:
        self.job_service = job_service
        self._store = job_service.storage.store
        self._blobs = job_service.storage.blobs

    async def add(
        self,
        content: BinaryIO,
        job_request: JobRequest,
        caller: Caller,
        *,
        problem_if_in_target: str | None = None,
        terms: RequestTerminology | None = None,
    ) -> AcceptedDocument:
        """Accept a file, and charge for it.

        Args:
            content: the file.
            job_request: how to translate it.
            caller: owner of the document.
            problem_if_in_target: error, without a charge, of a file that is already in the target language;
                None to return such a file unchanged.
            terms: terms of glossaries.

        Raises:
            FileRejected: the file cannot be translated.
            QuotaExceeded: the caller has fewer characters left.
        """
        async with self._uploaded(content, job_request, terms) as (sent, document_key):
            if problem_if_in_target is not None and await self.job_service.is_in_target(sent, caller):
                ending = JobOutcome(JobState.FAILED, problem=problem_if_in_target)
                job = await self.job_service.add_ended(sent, caller, ending)
            else:
                job = await self.job_service.add(sent, caller)
            return AcceptedDocument(job, document_key)

    async def add_unchanged(
        self, content: BinaryIO, job_request: JobRequest, caller: Caller
    ) -> AcceptedDocument:
        """Accept a file that is returned unchanged, without a charge."""
        job_request = replace(job_request, output=UNCHANGED)
        return await self._add_ended(content, job_request, caller, JobOutcome(JobState.DONE))

    async def add_failed(self, job_request: JobRequest, caller: Caller, problem: str) -> AcceptedDocument:
        """Add a document that cannot be translated, so that its sender finds the problem when polling."""
        return await self._add_ended(
            BytesIO(), job_request, caller, JobOutcome(JobState.FAILED, problem=problem)
        )

    async def find(self, job_id: str, document_key: str) -> Job:
        """Return a document; raise the same error if its id or its key is wrong."""
        if is_job_id(job_id):
            job = await _run_for_document(partial(self._store.get_document, job_id))
            if opens(document_key, job):
                return job
        raise UnknownDocument

    async def ended(self, job: Job) -> Job:
        """Wait until a document has ended, and return it."""
        while not job.has_ended:
            await self.job_service.workers.waiting.wait_for_end(job)
            job = await _run_for_document(partial(self._store.again, job))
        return job

    async def give_up(self, job: Job) -> None:
        """Cancel a document nobody wants, which refunds it, and remove it as soon as no worker has it."""
        job = await self.job_service.cancel(job)
        if job.has_ended:
            await self.job_service.remove(job)

    async def read(self, job: Job) -> AsyncGenerator[bytes]:
        """Return the translation in pieces. Errors are raised before the first piece."""
        if not job.has_ended:
            raise DocumentNotReady(job.state)
        if job.result is None:
            raise NoResult(job.problem or job.state)
        pieces = self._blobs.read(job.result.blob, 0, job.result.size_bytes)
        return await read_on_threads(pieces, _run_for_document)

    async def take(self, job: Job) -> AsyncGenerator[bytes]:
        """Do the same once, and delete the document. Of several simultaneous calls, one gets it."""
        pieces = await self.read(job)
        await _run_for_document(partial(self._store.remove, job))

        async def whole() -> AsyncGenerator[bytes]:
            try:
                async with aclosing(pieces):
                    yield b""
                    async for piece in pieces:
                        yield piece
            finally:
                with anyio.CancelScope(shield=True):
                    await run_in_thread(
                        lambda: remove_files(self.job_service.storage, self.job_service.runner, job)
                    )

        return await begin(whole())

    async def _add_ended(
        self, content: BinaryIO, job_request: JobRequest, caller: Caller, ending: JobOutcome
    ) -> AcceptedDocument:
        async with self._uploaded(content, job_request) as (sent, document_key):
            return AcceptedDocument(await self.job_service.add_ended(sent, caller, ending), document_key)

    @asynccontextmanager
    async def _uploaded(
        self, content: BinaryIO, job_request: JobRequest, terms: RequestTerminology | None = None
    ) -> AsyncIterator[tuple[UploadedFile, str]]:
        """Yield a copy of a file for the block, with the key of a new document."""
        document_key = secrets.token_hex(DOCUMENT_KEY_BYTES)  # nobody can guess it
        async with self.job_service.folder() as folder:
            path = folder / UPLOAD_NAME

            def copy() -> None:
                content.seek(0)
                with path.open("xb") as target:
                    copyfileobj(content, target)

            await run_storage_call(copy)
            yield UploadedFile(path, job_request, key_sha256(document_key), terms), document_key


def key_sha256(document_key: str) -> str:
    """Return the hash that the database stores, in hexadecimal digits.

    The key is long and random, so a salt adds nothing.
    """
    return hashlib.sha256(document_key.encode("utf-8", "replace")).hexdigest()


def opens(document_key: str, job: Job) -> bool:
    """Return whether a document key belongs to a document, in constant time."""
    return job.document_key_sha256 is not None and hmac.compare_digest(
        job.document_key_sha256, key_sha256(document_key)
    )


async def _run_for_document(ask: Callable[[], Result]) -> Result:
    """Run a storage call on a thread; if the job or its file is gone, the document is unknown."""

    def ask_known() -> Result:
        try:
            return ask()
        except (UnknownJob, FileNotFoundError) as error:
            raise UnknownDocument from error

    return await run_storage_call(ask_known)
