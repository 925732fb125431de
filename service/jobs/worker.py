"""What works on jobs: claims one after the other, keeps them claimed, ends them, and clears up after all.

Each job has a thread; the event loop beats for it. A worker that is silent for longer than its lease loses
its job to another, which goes on from the last chunk in the journal.
"""

import asyncio
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import anyio
import anyio.to_thread
from anyio import CapacityLimiter

from dragoman.errors import BundleError, InputError, NoRoom, ProviderError, TranslatorClosed
from service.accounts.errors import StoreError
from service.batch.errors import BatchRefused, BatchStopped
from service.formats.errors import FileProblem
from service.front.errors import SERVER_FAILED, log_unexpected
from service.front.threads import beside
from service.jobs.errors import AddressRefused, LeaseLost, UnknownJob
from service.jobs.job import Ending, Job, State
from service.jobs.premises import JobPremises
from service.jobs.problems import FILE_GONE, MANY_SETBACKS, MODEL_FAILED
from service.jobs.responses import present_job
from service.jobs.running import Finished, Gauge, Runner, keep
from service.jobs.store import Claimed
from service.jobs.waiting import Waiting
from service.jobs.webhooks import DeliveryFailed, Message, WebhookOptions, deliver, pause_after

POLL_S = 1.0
"""Between two looks at whether there is something to do."""
DOCUMENTS_AT_A_TIME = 2
"""By workers that take nothing else, beside those that take anything."""
BEATS_PER_LEASE = 10
SWEEP_S = 60.0
SETBACK_PAUSE_POLLS = 5
"""After work that failed and may go better later, as on a disk that is full."""
WEBHOOK_HOLD_S = 120.0
"""For which one process alone tries to send a webhook."""
INPUT = "input"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Assignment:
    """A job and the worker that has it."""

    job: Job
    worker: str
    gauge: Gauge = field(default_factory=Gauge)
    stop: Event = field(default_factory=Event)
    is_lost: Event = field(default_factory=Event)
    """Set when another worker has the job: nothing of it may be changed."""


class Workers:
    """Works on jobs while `working`. For one event loop."""

    def __init__(
        self, premises: JobPremises, runner: Runner, jobs_at_a_time: int, poll_s: float = POLL_S
    ) -> None:
        self._premises = premises
        self._store = premises.store
        self._runner = runner
        self._jobs_at_a_time = jobs_at_a_time
        self._poll_s = poll_s
        self._threads = CapacityLimiter(jobs_at_a_time + DOCUMENTS_AT_A_TIME)
        self._comings: list[asyncio.Event] = []
        """One for each who takes jobs, so that none hides a coming from the others."""
        self.waiting = Waiting(premises.store)
        self._is_ending = False

    def wake(self) -> None:
        """There is a new job."""
        for has_come in self._comings:
            has_come.set()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """What is not done at the end goes back, for another process to go on with."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.waiting.keep_looking)
            if self._jobs_at_a_time:
                tasks.start_soon(self._keep_swept)
                if self._premises.webhooks is not None:
                    tasks.start_soon(self._send_webhooks, self._premises.webhooks)
                for _ in range(DOCUMENTS_AT_A_TIME):
                    tasks.start_soon(self._work, Claimed.DOCUMENTS)
            for _ in range(self._jobs_at_a_time):
                tasks.start_soon(self._work, Claimed.ANY)
            yield
            self._is_ending = True
            tasks.cancel_scope.cancel()

    async def _work(self, claimed: Claimed) -> None:
        has_come = asyncio.Event()
        self._comings.append(has_come)
        while not self._is_ending:
            has_come.clear()
            worker = secrets.token_hex(16)
            job = await self._claim(worker, claimed)
            if job is not None:
                is_setback = await self._work_on(_Assignment(job, worker))
                self.waiting.tell(job.id)
                if is_setback:
                    await asyncio.sleep(SETBACK_PAUSE_POLLS * self._poll_s)
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(has_come.wait(), self._poll_s)

    async def _claim(self, worker: str, claimed: Claimed) -> Job | None:
        try:
            return await beside(lambda: self._store.claim(worker, claimed))
        except StoreError as error:
            logger.error("no job can be claimed: %s", error)  # noqa: TRY400 -- a traceback says no more
            return None

    async def _work_on(self, assignment: _Assignment) -> bool:
        """See `_run`."""
        working = asyncio.ensure_future(
            anyio.to_thread.run_sync(lambda: self._run(assignment), limiter=self._threads)
        )
        beating = asyncio.ensure_future(self._beat(assignment))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            assignment.stop.set()
            with anyio.CancelScope(shield=True):
                await working
            raise
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    async def _beat(self, assignment: _Assignment) -> None:
        """A beat that fails is tried again; once the lease is over another may have the job."""
        last_s = time.monotonic()
        while True:
            await asyncio.sleep(min(self._poll_s, self._store.lease_s / BEATS_PER_LEASE))
            job_id = assignment.job.id
            try:
                is_to_end = await beside(partial(self._beat_once, assignment))
            except LeaseLost:
                assignment.is_lost.set()
                assignment.stop.set()
                return
            except StoreError as error:
                logger.warning("job %s: its worker cannot tell that it lives: %s", job_id, error)
                if time.monotonic() - last_s > self._store.lease_s:
                    assignment.stop.set()
                continue
            last_s = time.monotonic()
            if is_to_end:
                assignment.stop.set()

    def _beat_once(self, assignment: _Assignment) -> bool:
        return self._store.beat(assignment.job.id, assignment.worker, assignment.gauge.progress)

    def _run(self, assignment: _Assignment) -> bool:
        """On a thread of the job's own. Whatever happens, the job ends or goes back; gives whether it went
        back because something failed.
        """
        job, worker = assignment.job, assignment.worker
        try:
            with TemporaryDirectory(dir=self._premises.scratch.folder) as name:
                self._end(assignment, self._ending(assignment, Path(name)))
        except LeaseLost as error:
            logger.warning("%s", error)
        except (BatchStopped, TranslatorClosed, NoRoom, StoreError, OSError) as error:
            is_failure = not self._is_ending
            level = logging.WARNING if is_failure else logging.INFO
            logger.log(level, "job %s goes back: %s", job.id, error)
            with suppress(StoreError):  # its lease ends, and somebody else goes on
                self._store.release(job.id, worker, num_setbacks=int(is_failure))
            return is_failure
        return False

    def _ending(self, assignment: _Assignment, folder: Path) -> Ending:
        """Do the work; gives how it ends.

        Raises:
            LeaseLost: another has the job.
            BatchStopped, TranslatorClosed, NoRoom, StoreError, OSError: it is to be gone on with later.
        """
        job = assignment.job
        everything = job.num_characters
        if self._store.has_too_many_setbacks(job):  # even to read it may be what fails
            return Ending(State.FAILED, problem=MANY_SETBACKS, refund_characters=everything)
        try:
            source = self._premises.blobs.local(f"{job.id}/{INPUT}", folder)
        except FileNotFoundError:
            return Ending(State.FAILED, problem=FILE_GONE, refund_characters=everything)
        if job.is_cancelling:
            return self._unfinished(job, source, State.CANCELLED)
        try:
            finished = self._runner.run(job, source, folder, assignment.gauge, assignment.stop)
        except BatchStopped:
            if assignment.is_lost.is_set():
                raise LeaseLost(job.id) from None
            if not self._store.again(job).is_cancelling:
                raise
            return self._unfinished(job, source, State.CANCELLED)
        except (TranslatorClosed, NoRoom, StoreError, OSError):
            raise
        except Exception as error:  # noqa: BLE001 -- told to its owner, and the next job is none the worse
            return self._unfinished(job, source, State.FAILED, _told(error))
        return self._finished(assignment, finished)

    def _finished(self, assignment: _Assignment, finished: Finished) -> Ending:
        """The files are kept under names of this worker's own, and count only once the job says so. Of a
        document it is all or nothing.
        """
        job, worker, blobs = assignment.job, assignment.worker, self._premises.blobs
        if job.is_document and finished.first_failure is not None:
            everything = job.num_characters
            return Ending(State.FAILED, problem=finished.first_failure, refund_characters=everything)
        result = keep(f"{job.id}/result-{worker}", finished.result)
        blobs.put(result.blob, finished.result)
        errors = None
        if finished.errors is not None:
            errors = keep(f"{job.id}/errors-{worker}", finished.errors)
            blobs.put(errors.blob, finished.errors)
        source = assignment.gauge.progress.detected_source
        return Ending(
            State.DONE, finished.num_failed, None, result, errors, finished.refund_characters, source
        )

    def _unfinished(self, job: Job, source: Path, state: State, problem: str | None = None) -> Ending:
        try:
            num_translated = 0 if job.is_document else self._runner.translated_characters(job, source)
        except (StoreError, OSError):
            raise
        except Exception:  # noqa: BLE001 -- why it failed is told already
            num_translated = 0  # nothing was, where it cannot be read
        return Ending(state, problem=problem, refund_characters=max(job.num_characters - num_translated, 0))

    def _end(self, assignment: _Assignment, ending: Ending) -> None:
        job, blobs = assignment.job, self._premises.blobs
        self._store.end(job, assignment.worker, ending)
        logger.info("job %s is %s", job.id, ending.state)
        # What is left of these when the process dies just here goes with the job.
        self._runner.journal(job.id).forget()
        blobs.remove_one(f"{job.id}/{INPUT}")

    async def _keep_swept(self) -> None:
        while True:
            try:
                await beside(lambda: sweep(self._premises, self._runner))
            except (StoreError, OSError) as error:
                logger.error("old jobs cannot be removed: %s", error)  # noqa: TRY400 -- as above
            await asyncio.sleep(SWEEP_S)

    async def _send_webhooks(self, options: WebhookOptions) -> None:
        while True:
            try:
                is_sent = await beside(lambda: send_next_webhook(self._premises, options))
            except StoreError as error:
                logger.error("webhooks cannot be looked up: %s", error)  # noqa: TRY400 -- as above
                is_sent = False
            if not is_sent:
                await asyncio.sleep(self._poll_s)


def _told(error: Exception) -> str:
    """Why a job failed, for its owner; what is none of an owner's business is logged."""
    if isinstance(error, BatchRefused | FileProblem | InputError):
        return str(error)
    if isinstance(error, BundleError | ProviderError):
        logger.error("a model cannot be opened: %s", error)
        return MODEL_FAILED
    log_unexpected(error)
    return SERVER_FAILED


def sweep(premises: JobPremises, runner: Runner) -> None:
    """Remove jobs whose time is over, and files that are no job's.

    Raises:
        StoreError: the database cannot be used.
        OSError: the store of files failed.
    """
    while over := premises.store.expired():
        for job in over:
            remove(premises, runner, job)
    old = {job_id for job_id in premises.blobs.jobs() if premises.store.is_old(job_id)}
    for job_id in old - premises.store.known(old):
        premises.blobs.remove(job_id)


def remove(premises: JobPremises, runner: Runner, job: Job) -> None:
    """Forget a job that has ended, and remove its files."""
    with suppress(UnknownJob):  # somebody else has just done it
        premises.store.remove(job)
    remove_files(premises, runner, job)


def remove_files(premises: JobPremises, runner: Runner, job: Job) -> None:
    """All that is kept of a job beside what it is."""
    runner.journal(job.id).forget()
    premises.blobs.remove(job.id)


def send_next_webhook(premises: JobPremises, options: WebhookOptions) -> bool:
    """Tell the end of a job, if one is due; gives whether one was.

    Raises:
        StoreError: the database cannot be used.
    """
    store = premises.store
    job = store.claim_webhook(WEBHOOK_HOLD_S)
    if job is None:
        return False
    body = json.dumps({"type": "job.ended", "job": present_job(job).model_dump(mode="json")}).encode()
    try:
        deliver(job.wishes.webhook_url or "", Message(job.id, body), options, time.time())
    except AddressRefused as error:
        logger.warning("job %s: its end is told to nobody: the address %s", job.id, error)
        store.set_webhook(job.id, None)
    except (DeliveryFailed, OSError) as error:
        pause_s = pause_after(job.webhook_tries, options.first_pause_s)
        logger.info("job %s: its end was not told, at try %d: %s", job.id, job.webhook_tries, error)
        store.set_webhook(job.id, pause_s)
    else:
        store.set_webhook(job.id, None)
    return True
