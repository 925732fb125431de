"""Workers: they claim jobs one after the other, extend their leases, end them and clean up.

Each job runs on its own thread; the event loop sends its heartbeats. If a worker is silent for longer than
its lease, another takes over the job from the last chunk in the journal. A job that has had its turn returns
to the queue if another key's job waits: see `TimeSlices`. A loop that fails is restarted.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event

import anyio

from dragoman.errors import (
    BundleError,
    InputError,
    KernelsError,
    MemoryBudgetExceeded,
    ProviderError,
    TranslatorClosed,
)
from service.accounts.errors import StoreError
from service.batch.errors import BatchRejected, BatchStopped
from service.batch.progress import BatchReport
from service.batch.run import first_failure
from service.errors import SERVER_FAILED
from service.formats.entries import FileFormatError
from service.glossaries.terminology import RequestTerminology
from service.jobs.end_waiter import EndWaiter
from service.jobs.errors import JobsFull, LeaseLost, TooManyBytes
from service.jobs.job import FILE_GONE, MANY_SETBACKS, MODEL_FAILED, ClaimKind, Job, JobOutcome, JobState
from service.jobs.job_runner import ERRORS, RESULT, JobRunner, ProgressReporter, TimeSlices, keep, sweep
from service.jobs.job_storage import JobStorage
from service.jobs.store import JobStore
from service.telemetry.counters import HEARTBEAT_S, WorkerCounters
from service.telemetry.logs import log_unexpected, traceback_without_messages
from service.work.threads import run_in_thread, run_on_daemon_thread

POLL_S = 1.0
"""Seconds between two polls for work."""
DOCUMENTS_AT_A_TIME = 2
"""Number of workers for documents only, in addition to those that take any job."""
FIRST_OF_KEYS_AT_A_TIME = 2
"""Number of workers for keys of which no job is running, so that no key's jobs keep all others waiting."""
BEATS_PER_LEASE = 10
SWEEP_S = 60.0
SETBACK_PAUSE_POLLS = 5
"""Pause, in polls, after a failure that may be temporary, such as a full disk."""
WAIT_POLLS = 2
"""Age of a job, in polls, from which no worker is free for it, so that others are interrupted."""
STOP_S = 10.0
"""Seconds for which a stopping server waits for its jobs to break off."""
INPUT = "input"
TERMS = "terms"
"""Name of the file of a job's terms, if it has any."""
_TEMPORARY_ERRORS = (BatchStopped, TranslatorClosed, MemoryBudgetExceeded, StoreError, OSError)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Assignment:
    """A job and the worker that has it."""

    job: Job
    worker: str
    loop: str
    """Name of the worker's loop."""
    claimed: ClaimKind
    """Kind of jobs that the loop claims."""
    progress_reporter: ProgressReporter = field(default_factory=ProgressReporter)
    stop: Event = field(default_factory=Event)
    is_lost: Event = field(default_factory=Event)
    """Set when another worker has the job: this one must not change it any more."""
    is_turn_over: Event = field(default_factory=Event)
    """Set when the job goes back to the queue because another key's job waits."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """Outcome of one attempt at a job."""

    ended: JobState | None = None
    """Final state of the job; None if it goes back to the queue, or another worker has it."""
    is_setback: bool = False
    """Whether the job goes back because something failed."""


@dataclass(slots=True, eq=False)
class JobWorkers:
    """Runs jobs while the block of `working` runs, on one event loop."""

    storage: JobStorage
    runner: JobRunner
    jobs_at_a_time: int
    counters: WorkerCounters = field(default_factory=WorkerCounters)
    poll_s: float = field(default=POLL_S, kw_only=True)
    stop_s: float = field(default=STOP_S, kw_only=True)
    slices: TimeSlices = field(default_factory=TimeSlices, kw_only=True)
    waiting: EndWaiter = field(init=False)
    _wake_events: list[asyncio.Event] = field(default_factory=list)
    """One event for each loop that claims jobs, so that none clears it for the others."""
    _is_ending: bool = False

    def __post_init__(self) -> None:
        self.waiting = EndWaiter(self._store)

    @property
    def _store(self) -> JobStore:
        return self.storage.store

    def wake(self) -> None:
        """Wake the loops that claim jobs, as there is a new one."""
        for wake_event in self._wake_events:
            wake_event.set()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Run jobs until the block ends. Unfinished jobs go back, for another process to resume."""
        async with anyio.create_task_group() as tasks:
            for name, loop in self._loops():
                tasks.start_soon(self._keep_running, name, loop)
            yield
            self._is_ending = True
            tasks.cancel_scope.cancel()

    def _loops(self) -> list[tuple[str, Callable[[str], Awaitable[None]]]]:
        """Return all loops of this process, with their names."""
        loops: list[tuple[str, Callable[[str], Awaitable[None]]]] = [
            ("waiting", lambda name: self.waiting.poll(partial(self.counters.beat, name)))
        ]
        if not self.jobs_at_a_time:
            return loops
        loops.append(("sweep", self._sweep_loop))
        takers = [(f"documents-{number + 1}", ClaimKind.DOCUMENTS) for number in range(DOCUMENTS_AT_A_TIME)]
        takers += [(f"jobs-{number + 1}", ClaimKind.ANY) for number in range(self.jobs_at_a_time)]
        takers += [
            (f"keys-{number + 1}", ClaimKind.FIRST_OF_KEY) for number in range(FIRST_OF_KEYS_AT_A_TIME)
        ]
        loops += [(name, partial(self._work, claimed, self._new_wake_event())) for name, claimed in takers]
        return loops

    def _new_wake_event(self) -> asyncio.Event:
        wake_event = asyncio.Event()
        self._wake_events.append(wake_event)
        return wake_event

    async def _keep_running(self, name: str, loop: Callable[[str], Awaitable[None]]) -> None:
        """Restart a loop whenever it fails. A restart does not count as a heartbeat."""
        self.counters.beat(name)
        while not self._is_ending:
            try:
                await loop(name)
            except Exception as error:  # noqa: BLE001 -- the loop must continue
                self.counters.restarts.add(name)
                traceback = "".join(traceback_without_messages(error))
                logger.error("worker loop %s failed and is restarted\n%s", name, traceback)  # noqa: TRY400 -- messages may quote texts
                await asyncio.sleep(SETBACK_PAUSE_POLLS * self.poll_s)

    async def _work(self, claimed: ClaimKind, wake_event: asyncio.Event, name: str) -> None:
        while not self._is_ending:
            wake_event.clear()
            worker = secrets.token_hex(16)
            job = await self._claim(worker, claimed)
            self.counters.beat(name)
            if job is not None:
                outcome = await self._work_on(_Assignment(job, worker, name, claimed))
                self.waiting.notify(job.id)
                if outcome.ended is not None:
                    self.counters.jobs.add(outcome.ended)
                if outcome.is_setback:
                    await asyncio.sleep(SETBACK_PAUSE_POLLS * self.poll_s)
            else:
                with suppress(TimeoutError):
                    await asyncio.wait_for(wake_event.wait(), self.poll_s)

    async def _claim(self, worker: str, claimed: ClaimKind) -> Job | None:
        try:
            return await run_in_thread(lambda: self._store.claim(worker, claimed))
        except StoreError as error:
            logger.error("cannot claim a job: %s", error)  # noqa: TRY400 -- a traceback adds nothing
            return None

    async def _work_on(self, assignment: _Assignment) -> _Outcome:
        """Run a job on a thread, with heartbeats; see `_run`."""
        working = asyncio.ensure_future(run_on_daemon_thread(lambda: self._run(assignment)))
        beating = asyncio.ensure_future(self._send_heartbeats(assignment))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            assignment.stop.set()
            with anyio.CancelScope(shield=True):
                await self._await_stop(assignment, working)
            raise
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating

    async def _await_stop(self, assignment: _Assignment, working: asyncio.Future[_Outcome]) -> None:
        """Wait `stop_s` seconds for work to break off. Work that hangs is abandoned with its thread."""
        done, _ = await asyncio.wait({working}, timeout=self.stop_s)
        if done:
            return
        working.cancel()
        job_id = assignment.job.id
        logger.warning("job %s did not stop within %g s; it returns to the queue", job_id, self.stop_s)
        with suppress(StoreError):  # its lease will expire, and another worker will take over
            await run_in_thread(lambda: self._store.release(job_id, assignment.worker))

    async def _send_heartbeats(self, assignment: _Assignment) -> None:
        """Send heartbeats, and retry failed ones.

        Stop the job if it is cancelled, or its lease or its turn is over.
        """
        last_s = time.monotonic()
        while True:
            await asyncio.sleep(min(self.poll_s, self._store.lease_s / BEATS_PER_LEASE))
            self.counters.beat(assignment.loop)
            job_id, progress = assignment.job.id, assignment.progress_reporter.progress
            try:
                is_to_end = await run_in_thread(
                    partial(self._store.beat, job_id, assignment.worker, progress)
                )
                if await self._must_give_way(assignment):
                    assignment.is_turn_over.set()
                    assignment.stop.set()
            except LeaseLost:
                assignment.is_lost.set()
                assignment.stop.set()
                return
            except Exception as error:  # noqa: BLE001 -- the job continues while its lease lasts
                if not isinstance(error, StoreError):
                    log_unexpected(error)
                logger.warning("job %s: cannot store a heartbeat", job_id)
                if time.monotonic() - last_s > self._store.lease_s:
                    assignment.stop.set()
                continue
            last_s = time.monotonic()
            if is_to_end:
                assignment.stop.set()

    async def _must_give_way(self, assignment: _Assignment) -> bool:
        claimed, wait_s = assignment.claimed, WAIT_POLLS * self.poll_s
        if not assignment.progress_reporter.is_turn_over(claimed, self.slices):
            return False
        return await run_in_thread(lambda: self._store.is_job_waiting(claimed, wait_s))

    def _run(self, assignment: _Assignment) -> _Outcome:
        """Run a job on its own thread. Whatever happens, the job ends or goes back to the queue."""
        job, worker = assignment.job, assignment.worker
        try:
            with TemporaryDirectory(dir=self.storage.scratch.folder) as name:
                ending = self._run_to_outcome(assignment, Path(name))
                self._end(assignment, ending)
                return _Outcome(ending.state)
        except LeaseLost as error:
            logger.warning("%s", error)
            return _Outcome()
        except Exception as error:  # noqa: BLE001 -- the job is retried, and others must not be affected
            is_failure = not (self._is_ending or assignment.is_turn_over.is_set())
            if not isinstance(error, _TEMPORARY_ERRORS):
                log_unexpected(error)
            level = logging.WARNING if is_failure else logging.INFO
            logger.log(level, "job %s returns to the queue: %s", job.id, _loggable(error))
        with suppress(StoreError):  # its lease will expire, and another worker will take over
            self._store.release(job.id, worker, num_setbacks=int(is_failure))
        return _Outcome(is_setback=is_failure)

    def _run_to_outcome(self, assignment: _Assignment, folder: Path) -> JobOutcome:
        """Do the work, and return how the job ends.

        Raises:
            LeaseLost: another worker has the job.
            Exception: the job is to be resumed later; `_TEMPORARY_ERRORS` has the expected errors.
        """
        job = assignment.job
        everything = job.num_characters
        if self._store.has_too_many_setbacks(job):  # even reading its file may be what fails
            return JobOutcome(JobState.FAILED, problem=MANY_SETBACKS, refund_characters=everything)
        if job.is_cancelling:
            return self._unfinished_outcome(job, JobState.CANCELLED)
        try:
            source = self.storage.blobs.local(f"{job.id}/{INPUT}", folder)
            terms = self._read_terms(job, folder)
        except FileNotFoundError:
            return JobOutcome(JobState.FAILED, problem=FILE_GONE, refund_characters=everything)
        try:
            report = self.runner.run(
                job, source, folder, assignment.progress_reporter, assignment.stop, terms
            )
        except BatchStopped:
            if assignment.is_lost.is_set():
                raise LeaseLost(job.id) from None
            if not self._store.again(job).is_cancelling:
                raise
            return self._unfinished_outcome(job, JobState.CANCELLED)
        except _TEMPORARY_ERRORS:
            raise
        except Exception as error:  # noqa: BLE001 -- reported to the owner; the next job is not affected
            return self._unfinished_outcome(job, JobState.FAILED, _problem_for_owner(error))
        return self._store_output(assignment, report, folder)

    def _read_terms(self, job: Job, folder: Path) -> RequestTerminology | None:
        """Return the terms that a job was added with. Raises FileNotFoundError if their file is gone."""
        if job.num_terms is None:
            return None
        return RequestTerminology.from_json(
            self.storage.blobs.local(f"{job.id}/{TERMS}", folder).read_bytes()
        )

    def _store_output(self, assignment: _Assignment, report: BatchReport, folder: Path) -> JobOutcome:
        """Store the output files and return the ending. A document without any translated entry fails.

        The names are unique to this worker, and the files count only when the job refers to them.
        """
        job, worker, blobs = assignment.job, assignment.worker, self.storage.blobs
        kept = first_failure(folder / ERRORS) if job.is_document else None
        if kept is not None and report.num_failed == job.num_entries:
            return JobOutcome(JobState.FAILED, problem=kept, refund_characters=job.num_characters)
        refund = min(report.failed_characters, job.num_characters)
        result = keep(f"{job.id}/result-{worker}", folder / RESULT)
        has_errors = (folder / ERRORS).is_file()
        errors = keep(f"{job.id}/errors-{worker}", folder / ERRORS) if has_errors else None
        try:
            num_bytes = result.size_bytes + (0 if errors is None else errors.size_bytes)
            self._store.check_result(job, num_bytes)
        except (TooManyBytes, JobsFull) as error:
            problem = f"its translation cannot be stored: {error}"
            return JobOutcome(JobState.FAILED, problem=problem, refund_characters=refund)
        blobs.put(result.blob, folder / RESULT)
        if errors is not None:
            blobs.put(errors.blob, folder / ERRORS)
        return JobOutcome(
            JobState.DONE,
            report.num_failed,
            report.num_flagged,
            kept,
            result=result,
            errors=errors,
            refund_characters=refund,
            detected_source=assignment.progress_reporter.progress.detected_source,
        )

    def _unfinished_outcome(self, job: Job, state: JobState, problem: str | None = None) -> JobOutcome:
        num_translated = 0 if job.is_document else self.runner.journal(job.id).num_characters()
        return JobOutcome(
            state, problem=problem, refund_characters=max(job.num_characters - num_translated, 0)
        )

    def _end(self, assignment: _Assignment, ending: JobOutcome) -> None:
        job, blobs = assignment.job, self.storage.blobs
        self._store.end(job, assignment.worker, ending)
        logger.info("job %s is %s", job.id, ending.state)
        # If the process dies here, these are removed together with the job.
        self.runner.journal(job.id).forget()
        blobs.remove_one(f"{job.id}/{INPUT}")
        if job.num_terms is not None:
            blobs.remove_one(f"{job.id}/{TERMS}")

    async def _sweep_loop(self, name: str) -> None:
        while True:
            try:
                # A blob store may hang.
                await run_on_daemon_thread(
                    lambda: sweep(self.storage, self.runner, partial(self.counters.beat, name))
                )
            except (StoreError, OSError) as error:
                logger.error("cannot remove old jobs: %s", error)  # noqa: TRY400 -- as above
            self.counters.beat(name, SWEEP_S + HEARTBEAT_S)
            await asyncio.sleep(SWEEP_S)


def _loggable(error: Exception) -> str:
    """Return what may be logged of an error: messages of unexpected errors may quote texts."""
    return str(error) if isinstance(error, _TEMPORARY_ERRORS) else type(error).__name__


def _problem_for_owner(error: Exception) -> str:
    """Return why a job failed, for its owner. Log errors whose details the owner must not see."""
    if isinstance(error, BatchRejected | FileFormatError | InputError):
        return str(error)
    if isinstance(error, BundleError | ProviderError | KernelsError):
        logger.error("cannot open a model: %s", error)
        return MODEL_FAILED
    log_unexpected(error)
    return SERVER_FAILED
