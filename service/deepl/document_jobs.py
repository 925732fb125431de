"""Documents that were sent in, until they are fetched."""

import asyncio
import hmac
import secrets
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

import anyio

from service.accounts.callers import Caller
from service.deepl.answers import worded
from service.desk.desk import Desk
from service.desk.order import Order
from service.documents.errors import StoreFull, UnknownDocument
from service.documents.store import DocumentStore, StoredDocument
from service.documents.translating import translate_document
from service.front.errors import SERVER_FAILED, ApiError, ErrorKind, log_unexpected
from service.front.threads import beside

ID_SIZE_BYTES, KEY_SIZE_BYTES = 16, 32
NUM_AT_A_TIME = 2
"""Documents; each has a part in the engine, which takes the parts together."""
MAX_WAITING_OF_ONE = 100
"""Documents of one caller, so that the others find room."""
MAX_JOBS = 10_000
"""Documents of all callers, done and failed ones included until they are fetched or their time is over."""
LIFETIME_S = 3600.0
"""For which a job is remembered once it is done or has failed; its document may go earlier."""
FULL_PAUSE_S = 1.0
MAX_TRIES_TO_KEEP = 600
"""To keep a translation where there is no room now; others are fetched, or their time ends."""


class Status(StrEnum):
    QUEUED = "queued"
    TRANSLATING = "translating"
    DONE = "done"
    ERROR = "error"


@dataclass(slots=True, eq=False)
class Job:
    """A document on its way."""

    owner: str | None
    """Id of the key it was sent with."""
    num_characters: int
    expires_at_s: float
    id: str = field(default_factory=lambda: secrets.token_hex(ID_SIZE_BYTES))
    key: str = field(default_factory=lambda: secrets.token_hex(KEY_SIZE_BYTES), repr=False)
    status: Status = Status.QUEUED
    error: str | None = None
    kept_as: str | None = None
    """Where the store has it: first as it came, then translated."""


class DocumentJobs:
    """Translates documents behind their senders' backs. For one event loop; works while `working`."""

    def __init__(
        self,
        desk: Desk,
        store: DocumentStore,
        lifetime_s: float = LIFETIME_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._desk = desk
        self._store = store
        self._lifetime_s = lifetime_s
        self._monotonic = monotonic
        self._jobs: dict[str, Job] = {}
        self._waiting: deque[tuple[Job, Order, Caller]] = deque()
        self._has_come = asyncio.Event()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """What is not done at the end is given up."""
        async with anyio.create_task_group() as tasks:
            for _ in range(NUM_AT_A_TIME):
                tasks.start_soon(self._work)
            yield
            tasks.cancel_scope.cancel()

    async def add(self, document: StoredDocument, num_characters: int, order: Order, caller: Caller) -> Job:
        """Take a document in.

        Raises:
            StoreFull: there is no room for it.
            ApiError: its sender has too many waiting.
        """
        job = self._new_job(caller, num_characters)
        if sum(each.owner == caller.key_id for each, _, _ in self._waiting) >= MAX_WAITING_OF_ONE:
            problem = f"{MAX_WAITING_OF_ONE} documents wait already; send it when some are done"
            raise ApiError(ErrorKind.OVERLOADED, problem)
        job.kept_as = await beside(lambda: self._store.put(document.name, document.content))
        self._jobs[job.id] = job
        self._waiting.append((job, order, caller))
        self._has_come.set()
        return job

    def add_failed(self, caller: Caller, num_characters: int, problem: str) -> Job:
        """One that cannot be translated, whose sender will ask.

        Raises:
            StoreFull: there are too many jobs.
        """
        job = self._new_job(caller, num_characters)
        job.status, job.error = Status.ERROR, problem
        self._jobs[job.id] = job
        return job

    def find(self, job_id: str, key: str, caller: Caller) -> Job:
        """The job of an id, for those who have its key.

        Raises:
            UnknownDocument: there is none, or none any more, or it is another's.
        """
        self._sweep()
        job = self._jobs.get(job_id)
        if job is None or job.owner != caller.key_id or not _is_same(job.key, key):
            raise UnknownDocument
        return job

    async def take(self, job: Job) -> StoredDocument:
        """Its translation, once; the job is gone with it.

        Raises:
            UnknownDocument: somebody else has just had it, or its time is over.
        """
        if self._jobs.pop(job.id, None) is None or job.kept_as is None:
            raise UnknownDocument
        kept_as = job.kept_as
        return await beside(lambda: self._store.take(kept_as))

    def _new_job(self, caller: Caller, num_characters: int) -> Job:
        self._sweep()
        if len(self._jobs) >= MAX_JOBS:
            raise StoreFull(f"there are {MAX_JOBS} already; fetch those that are done, or try again later")
        return Job(caller.key_id, num_characters, self._monotonic() + self._lifetime_s)

    async def _work(self) -> None:
        while True:
            while not self._waiting:
                self._has_come.clear()
                await self._has_come.wait()
            job, order, caller = self._waiting.popleft()
            job.status = Status.TRANSLATING
            try:
                await self._translate(job, order, caller)
                job.status = Status.DONE
            except Exception as error:  # noqa: BLE001 -- told to its sender, and the next one is none the worse
                job.error, job.status = _told(error), Status.ERROR
            # It can be fetched for as long as it could be waited for.
            self._jobs.pop(job.id, None)
            job.expires_at_s = self._monotonic() + self._lifetime_s
            self._jobs[job.id] = job

    async def _translate(self, job: Job, order: Order, caller: Caller) -> None:
        source_id, job.kept_as = job.kept_as or "", None
        document = await beside(lambda: self._store.take(source_id))
        translated = await translate_document(self._desk, document.content, document.name, order, caller)
        for _ in range(MAX_TRIES_TO_KEEP):
            with suppress(StoreFull):
                job.kept_as = await beside(lambda: self._store.put(document.name, translated))
                return
            await anyio.sleep(FULL_PAUSE_S)
        job.kept_as = await beside(lambda: self._store.put(document.name, translated))

    def _sweep(self) -> None:
        """Forget jobs whose time is over, the first of which end first."""
        now_s = self._monotonic()
        over = [
            job.id
            for job in self._jobs.values()
            if job.expires_at_s <= now_s and job.status in {Status.DONE, Status.ERROR}
        ]
        for job_id in over:
            del self._jobs[job_id]


def _is_same(key: str, presented: str) -> bool:
    return hmac.compare_digest(key.encode(), presented.encode("utf-8", errors="replace"))


def _told(error: Exception) -> str:
    try:
        return worded(error).message
    except Exception as unexpected:  # noqa: BLE001 -- it is the same one, which is none of a client's business
        log_unexpected(unexpected)
        return SERVER_FAILED
