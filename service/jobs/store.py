"""The database of jobs: add a job with its charge, claim it for one worker at a time, end it once."""

import logging
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from service.accounts.accounts import SYSTEM_CLOCK, Clock
from service.accounts.database import Database, hold_lock
from service.accounts.keys import month_of
from service.accounts.totals import Resource, is_owned_by, read_total
from service.accounts.usage import Charge, charge_in_transaction, refund_in_transaction
from service.batch.journal import translated_characters
from service.jobs import tables
from service.jobs.errors import JobsFull, JobUnreadable, LeaseLost, TooManyBytes, TooManyJobs, UnknownJob
from service.jobs.job import (
    FINAL_STATES,
    MAX_SETBACKS,
    UNREADABLE,
    ClaimKind,
    Job,
    JobOutcome,
    JobState,
    NewJob,
    RunProgress,
    new_job_id,
)
from service.schema.tables import JOBS
from service.settings.settings import Settings

LEASE_S = 30.0
"""Seconds of silence after which another worker takes over a job. Machines' clocks must differ by less."""
UPLOAD_S = 3600.0
"""Seconds after which files without a job belong to nobody: their job was never added."""
MAX_IDS = 500
"""Maximum number of ids in one statement."""

DEFAULTS = Settings.model_construct()

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class JobStore:
    """Jobs in the database. All methods wait for it, and raise StoreError if it cannot be used."""

    database: Database
    settings: Settings = DEFAULTS
    clock: Clock = SYSTEM_CLOCK
    lease_s: float = LEASE_S

    def add(self, new: NewJob, max_characters_per_month: int | None = None) -> Job:
        """Add a job and charge for it, in one transaction.

        Raises:
            QuotaExceeded: the caller has fewer characters left.
            TooManyJobs: the caller has the maximum number of unfinished jobs.
            TooManyBytes: the caller's files would exceed their byte limit.
            JobsFull: all files together would exceed their byte limit.
        """
        with self.database.writing() as connection:
            hold_lock(connection, tables.JOBS_LOCK)
            self._check_waiting(connection, new.key_id, is_document=new.document_key_sha256 is not None)
            job = self._insert(connection, new)
            if new.key_id is not None:
                charge = Charge(new.key_id, job.charged_month, new.num_characters, documents=1)
                charge_in_transaction(connection, charge, max_characters_per_month)
            return job

    def add_ended(self, new: NewJob, ending: JobOutcome) -> Job:
        """Add a job that has already ended, without a charge.

        Raises:
            TooManyBytes, JobsFull: a byte limit would be exceeded.
        """
        with self.database.writing() as connection:
            hold_lock(connection, tables.JOBS_LOCK)
            self._end(connection, self._insert(connection, new), JOBS.c.id == new.id, ending)
            return _read_one(connection, new.id)

    def check_space(self, key_id: str | None) -> None:
        """Raise, before the upload, the errors that `add` would raise for any file."""
        with self.database.reading() as connection:
            self._check_waiting(connection, key_id, is_document=False)
            self._check_space(connection, key_id, 1)

    def check_result(self, job: Job, size_bytes: int) -> None:
        """Raise TooManyBytes or JobsFull if a result with its list of errors would exceed a byte limit."""
        num_reserved = 2 * job.input_size_bytes
        if size_bytes > num_reserved:
            with self.database.reading() as connection:
                self._check_space(connection, job.key_id, size_bytes - num_reserved)

    def get(self, key_id: str | None, job_id: str) -> Job:
        """Return a caller's job. Raise UnknownJob if there is none; documents are never returned here."""
        return self._read(JOBS.c.id == job_id, tables.of_key(key_id))

    def get_document(self, job_id: str) -> Job:
        """Return a document that has not expired; the calling code must check the document key.

        Raises:
            UnknownJob: there is no such document.
        """
        is_document = JOBS.c.document_key_sha256.is_not(None)
        is_kept = sa.or_(JOBS.c.expires_at.is_(None), JOBS.c.expires_at > self.clock.now())
        return self._read(JOBS.c.id == job_id, is_document, is_kept)

    def again(self, job: Job) -> Job:
        """Read a job again. Raise UnknownJob if it is gone."""
        return self._read(JOBS.c.id == job.id)

    def page(
        self, key_id: str | None, limit: int, before: str | None = None, state: JobState | None = None
    ) -> list[Job]:
        """Return the caller's own jobs, latest first.

        Args:
            key_id: key of the caller.
            limit: maximum number of jobs.
            before: return only jobs created before the one with this id.
            state: return only jobs in this state.
        """
        wanted = sa.select(JOBS).where(tables.of_key(key_id)).order_by(JOBS.c.id.desc()).limit(limit)
        if before is not None:
            wanted = wanted.where(JOBS.c.id < before)
        if state is not None:
            wanted = wanted.where(JOBS.c.state == state)
        with self.database.reading() as connection:
            return [tables.as_job(row) for row in connection.execute(wanted)]

    def claim(self, worker: str, claimed: ClaimKind = ClaimKind.ANY) -> Job | None:
        """Claim a queued job, or one whose worker is silent; return None if there is none.

        The key with the fewest running jobs comes first, and of several the one that has waited longest,
        with its oldest job. For `FIRST_OF_KEY`, keys of which no job has begun come before the others.

        Args:
            worker: name of the claim, unique among all claims.
            claimed: kind of jobs to claim.
        """
        now = self.clock.now()
        free = tables.is_free(claimed, now)
        precedence = tables.has_begun() if claimed is ClaimKind.FIRST_OF_KEY else tables.num_running(now)
        order = (precedence, tables.waiting_since(), JOBS.c.id)
        first = sa.select(JOBS.c.id).where(free).order_by(*order).limit(1)
        while True:
            with self.database.reading() as connection:  # it keeps nobody waiting, and mostly finds nothing
                job_id = connection.execute(first).scalar()
            if job_id is None:
                return None
            found = sa.select(JOBS).where(JOBS.c.id == job_id, free).with_for_update()
            with self.database.writing() as connection:
                row = connection.execute(found).first()
                if row is not None:  # else another worker was faster
                    return self._claim(connection, row, worker, now)

    def _claim(self, connection: sa.Connection, row: sa.Row[Any], worker: str, now: datetime) -> Job | None:
        taken: dict[str, Any] = {
            "state": JobState.RUNNING,
            "worker": worker,
            "leased_until": self._lease_end(now),
            "started_at": row.started_at or now,
            "num_setbacks": row.num_setbacks + (row.state == JobState.RUNNING),
        }
        mine = sa.update(JOBS).where(JOBS.c.id == row.id)
        connection.execute(mine.values(taken))
        try:
            return _read_one(connection, row.id)
        except JobUnreadable as error:  # it must not block all other claims for ever
            logger.error("%s; the job fails", error)  # noqa: TRY400 -- a traceback adds nothing
            given_up = {"state": JobState.FAILED, "problem": UNREADABLE, "finished_at": now}
            connection.execute(mine.values(given_up))
            return None

    def is_job_waiting(self, claimed: ClaimKind, wait_s: float) -> bool:
        """Return whether a job waits for which a worker must interrupt its own, once its turn is over.

        Args:
            claimed: kind of jobs that the worker claims. `FIRST_OF_KEY` is interrupted only for keys of which
                no job has begun, and others for keys of which no job is running.
            wait_s: seconds for which the job has waited: workers that are free have taken younger ones.
        """
        now = self.clock.now()
        is_next = ~tables.has_begun() if claimed is ClaimKind.FIRST_OF_KEY else tables.num_running(now) == 0
        queued_at = sa.func.coalesce(JOBS.c.leased_until, JOBS.c.created_at)
        has_waited = queued_at <= now - timedelta(seconds=wait_s)
        waiting = sa.select(JOBS.c.id).where(tables.is_free(claimed, now), has_waited, is_next).limit(1)
        with self.database.reading() as connection:
            return connection.execute(waiting).first() is not None

    def has_too_many_setbacks(self, job: Job) -> bool:
        """Return whether a job must fail because too many attempts at it stopped without progress."""
        with self.database.reading() as connection:
            found = connection.execute(sa.select(JOBS.c.num_setbacks).where(JOBS.c.id == job.id)).scalar()
        return (found or 0) >= MAX_SETBACKS

    def beat(self, job_id: str, worker: str, progress: RunProgress) -> bool:
        """Record a worker's progress and extend its lease. Return whether the job is to be cancelled.

        Raises:
            LeaseLost: another worker has the job.
        """
        now = self.clock.now()
        known: dict[str, Any] = {"leased_until": self._lease_end(now)}
        is_further = JOBS.c.num_done < progress.num_done
        for column, value in (
            (JOBS.c.num_done, progress.num_done),
            (JOBS.c.num_failed, progress.num_failed),
            (JOBS.c.num_setbacks, 0),
        ):  # a worker that took over the job counts from 0 again, through entries already translated
            known[column.name] = sa.case((is_further, value), else_=column)
        if progress.entries_per_s is not None:
            known["entries_per_s"] = progress.entries_per_s
        if progress.detected_source is not None:
            known["detected_source"] = progress.detected_source
        with self.database.writing() as connection:
            row = self._change(connection, job_id, worker, known)
            return bool(row.is_cancelling)

    def release(self, job_id: str, worker: str, num_setbacks: int = 0) -> None:
        """Put a job back into the queue, for any worker to resume. Do nothing if another worker has it.

        Its key goes behind the others.

        Args:
            job_id: id of the job.
            worker: worker that has the job.
            num_setbacks: 1 if the job goes back because something failed.
        """
        given = {
            "state": JobState.QUEUED,
            "worker": None,
            "leased_until": self.clock.now(),  # end of its turn
            "num_setbacks": JOBS.c.num_setbacks + num_setbacks,
        }
        with self.database.writing() as connection:
            connection.execute(sa.update(JOBS).where(tables.is_leased_to(job_id, worker)).values(given))

    def end(self, job: Job, worker: str, ending: JobOutcome) -> None:
        """End a job and refund what was not translated, in one transaction, so that neither happens twice.

        Raises:
            LeaseLost: another worker has the job.
        """
        with self.database.writing() as connection:
            if self._end(connection, job, tables.is_leased_to(job.id, worker), ending) is None:
                raise LeaseLost(job.id)
            self._refund(connection, job, ending)

    def cancel(self, job: Job) -> Job:
        """Cancel a queued job now, and a running one soon. A job that has ended stays as it is.

        Raises:
            UnknownJob: the job is gone.
        """
        wanted = sa.select(JOBS).where(JOBS.c.id == job.id)
        with self.database.writing() as connection:
            row = connection.execute(wanted.with_for_update()).first()
            if row is None:
                raise UnknownJob
            job = tables.as_job(row)
            if job.state is JobState.QUEUED:
                num_charged = 0 if job.is_document else translated_characters(connection, job.id)
                refund = max(job.num_characters - num_charged, 0)
                ending = JobOutcome(JobState.CANCELLED, refund_characters=refund)
                self._end(connection, job, JOBS.c.id == job.id, ending)
                self._refund(connection, job, ending)
            elif not job.has_ended:
                mine = sa.update(JOBS).where(JOBS.c.id == job.id)
                connection.execute(mine.values(is_cancelling=True))
            return tables.as_job(connection.execute(wanted).one())

    def remove(self, job: Job) -> None:
        """Delete a job that has ended. Of several simultaneous calls, only one succeeds.

        Raises:
            UnknownJob: the job is gone, or has not ended.
        """
        over = sa.delete(JOBS).where(JOBS.c.id == job.id, JOBS.c.state.in_(FINAL_STATES))
        with self.database.writing() as connection:
            row = connection.execute(over.returning(JOBS)).first()
            if row is None:
                raise UnknownJob
            tables.change_stored(connection, row.key_id, -1, -tables.reserved_bytes(row))

    def expired(self, limit: int = 100) -> list[Job]:
        """Return up to `limit` jobs that have expired."""
        over = sa.select(JOBS).where(JOBS.c.state.in_(FINAL_STATES), JOBS.c.expires_at <= self.clock.now())
        with self.database.reading() as connection:
            return [tables.as_job(row) for row in connection.execute(over.limit(limit))]

    def known(self, job_ids: Collection[str]) -> set[str]:
        """Return the ids that exist."""
        return self._filter_ids(job_ids, sa.true())

    def filter_unfinished(self, job_ids: Collection[str]) -> set[str]:
        """Return the ids of jobs that have not ended."""
        return self._filter_ids(job_ids, JOBS.c.state.in_(tables.UNFINISHED))

    def is_old(self, job_id: str) -> bool:
        """Return whether an id is so old that its job, if any, has been added by now."""
        return job_id < new_job_id(self.clock.now() - timedelta(seconds=UPLOAD_S))

    def _insert(self, connection: sa.Connection, new: NewJob) -> Job:
        now = self.clock.now()
        self._check_space(connection, new.key_id, 2 * new.input_size_bytes)
        tables.change_stored(connection, new.key_id, 1, 2 * new.input_size_bytes)
        connection.execute(sa.insert(JOBS).values(tables.new_row(new, month_of(now), now)))
        return _read_one(connection, new.id)

    def _read(self, *conditions: sa.ColumnElement[bool]) -> Job:
        with self.database.reading() as connection:
            row = connection.execute(sa.select(JOBS).where(*conditions)).first()
        if row is None:
            raise UnknownJob
        return tables.as_job(row)

    def _filter_ids(self, job_ids: Collection[str], condition: sa.ColumnElement[bool]) -> set[str]:
        requested, found = list(job_ids), set[str]()
        with self.database.reading() as connection:
            for start in range(0, len(requested), MAX_IDS):
                is_requested = JOBS.c.id.in_(requested[start : start + MAX_IDS])
                rows = connection.execute(sa.select(JOBS.c.id).where(is_requested, condition))
                found.update(rows.scalars())
        return found

    def _check_space(self, connection: sa.Connection, key_id: str | None, num_new: int) -> None:
        kept = read_total(connection, Resource.JOBS, key_id).size_bytes
        if kept + num_new > self.settings.max_jobs_bytes_of_key:
            raise TooManyBytes(self.settings.max_jobs_bytes_of_key, kept, num_new)
        if (
            read_total(connection, Resource.ALL_JOBS, None).size_bytes + num_new
            > self.settings.max_jobs_bytes
        ):
            raise JobsFull(self.settings.max_jobs_bytes)

    def _check_waiting(self, connection: sa.Connection, key_id: str | None, *, is_document: bool) -> None:
        has_document_key = JOBS.c.document_key_sha256.is_not(None)
        alike = has_document_key if is_document else ~has_document_key
        waiting = sa.select(sa.func.count()).where(
            is_owned_by(JOBS, key_id), alike, JOBS.c.state.in_(tables.UNFINISHED)
        )
        if connection.execute(waiting).scalar_one() >= self.settings.max_jobs_of_key:
            raise TooManyJobs(self.settings.max_jobs_of_key)

    def _change(
        self, connection: sa.Connection, job_id: str, worker: str, values: dict[str, Any]
    ) -> sa.Row[Any]:
        changed = sa.update(JOBS).where(tables.is_leased_to(job_id, worker)).values(values)
        row = connection.execute(changed.returning(JOBS.c.is_cancelling)).first()
        if row is None:
            raise LeaseLost(job_id)
        return row

    def _end(
        self, connection: sa.Connection, job: Job, is_wanted: sa.ColumnElement[bool], ending: JobOutcome
    ) -> sa.Row[Any] | None:
        """End a job that has not ended and is wanted; return its row."""
        values = self._ended_values(job, ending, self.clock.now())
        row = connection.execute(sa.update(JOBS).where(is_wanted).values(values).returning(JOBS)).first()
        if row is not None:
            num_freed = 2 * job.input_size_bytes - tables.reserved_bytes(row)
            tables.change_stored(connection, job.key_id, 0, -num_freed)
        return row

    def _ended_values(self, job: Job, ending: JobOutcome, now: datetime) -> dict[str, Any]:
        result, errors = ending.result, ending.errors
        ended: dict[str, Any] = {
            "state": ending.state,
            "problem": ending.problem,
            "finished_at": now,
            "expires_at": now + timedelta(seconds=self._lifetime_s(job, ending)),
            "is_cancelling": False,
            "worker": None,
            "leased_until": None,
            "input_size_bytes": 0,  # the input is removed
            "errors": None if errors is None else errors.blob,
            "errors_size_bytes": None if errors is None else errors.size_bytes,
        }
        if result is not None:
            ended |= {
                "result": result.blob,
                "result_size_bytes": result.size_bytes,
                "result_sha256": result.sha256,
                "num_done": job.num_entries,
                "num_failed": ending.num_failed,
                "num_flagged": ending.num_flagged,
            }
        if ending.detected_source is not None:
            ended["detected_source"] = ending.detected_source
        return ended

    def _lifetime_s(self, job: Job, ending: JobOutcome) -> float:
        if not job.is_document:
            return self.settings.job_lifetime_s
        # Whoever cancelled a document will not come back, and nobody else knows its key.
        return 0.0 if ending.state is JobState.CANCELLED else self.settings.document_lifetime_s

    def _refund(self, connection: sa.Connection, job: Job, ending: JobOutcome) -> None:
        documents = int(ending.state is not JobState.DONE)
        if job.key_id is not None and (ending.refund_characters or documents):
            refund = Charge(job.key_id, job.charged_month, ending.refund_characters, documents)
            refund_in_transaction(connection, refund, self.database.name)

    def _lease_end(self, now: datetime) -> datetime:
        return now + timedelta(seconds=self.lease_s)


def _read_one(connection: sa.Connection, job_id: str) -> Job:
    return tables.as_job(connection.execute(sa.select(JOBS).where(JOBS.c.id == job_id)).one())
