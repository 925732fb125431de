"""Rows and conditions of the table of jobs. Translations of jobs are in the tables of the journal."""

from dataclasses import fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter

from dragoman.errors import InputError
from service.accounts.database import Database
from service.accounts.totals import Resource, change_total, is_owned_by, read_total
from service.jobs.errors import JobUnreadable
from service.jobs.job import ClaimKind, Job, JobRequest, JobState, NewJob, StoredFile
from service.schema.tables import JOBS, TOTALS

JOBS_LOCK = 0x_D8A6_0AB5
"""Advisory lock in PostgreSQL that serialises programs that add jobs."""

UNFINISHED = (JobState.QUEUED, JobState.RUNNING)

_REQUESTS = TypeAdapter(JobRequest)
_JOBS = TypeAdapter(Job)


def of_key(key_id: str | None) -> sa.ColumnElement[bool]:
    """Select the jobs of a key without documents, which need their document keys."""
    return sa.and_(is_owned_by(JOBS, key_id), JOBS.c.document_key_sha256.is_(None))


def num_running(now: datetime) -> sa.ScalarSelect[int]:
    """Count the running jobs of the same key as a row's; all callers without a key count as one."""
    others, is_same_key = _jobs_of_same_key()
    is_worked_on = sa.and_(others.c.state == JobState.RUNNING, others.c.leased_until > now)
    return sa.select(sa.func.count()).where(is_worked_on, is_same_key).correlate(JOBS).scalar_subquery()


def is_free(claimed: ClaimKind, now: datetime) -> sa.ColumnElement[bool]:
    """Return whether a worker for jobs of this kind may claim a row."""
    is_left = sa.and_(JOBS.c.state == JobState.RUNNING, JOBS.c.leased_until <= now)
    is_claimable = sa.or_(JOBS.c.state == JobState.QUEUED, is_left)
    if claimed is ClaimKind.DOCUMENTS:
        return sa.and_(is_claimable, JOBS.c.document_key_sha256.is_not(None))
    if claimed is ClaimKind.FIRST_OF_KEY:
        return sa.and_(is_claimable, num_running(now) == 0)
    return is_claimable


def has_begun() -> sa.ColumnElement[bool]:
    """Return whether an unfinished job of the same key as a row's is running or was interrupted."""
    others, is_same_key = _jobs_of_same_key()
    is_begun = sa.and_(others.c.state.in_(UNFINISHED), others.c.started_at.is_not(None))
    return sa.exists().where(is_begun, is_same_key).correlate(JOBS)


def waiting_since() -> sa.ColumnElement[datetime]:
    """Return since when the key of a queued row waits: the end of its last turn, or else its creation."""
    others, is_same_key = _jobs_of_same_key()
    ends = sa.select(sa.func.max(others.c.leased_until)).where(others.c.state == JobState.QUEUED, is_same_key)
    return sa.func.coalesce(ends.correlate(JOBS).scalar_subquery(), JOBS.c.created_at)


def _jobs_of_same_key() -> tuple[sa.FromClause, sa.ColumnElement[bool]]:
    """Return the table of jobs once more, and the condition that a row of it has the key of a row."""
    others = JOBS.alias()
    return others, others.c.key_id.is_not_distinct_from(JOBS.c.key_id)


def is_leased_to(job_id: str, worker: str) -> sa.ColumnElement[bool]:
    return sa.and_(JOBS.c.id == job_id, JOBS.c.worker == worker, JOBS.c.state == JobState.RUNNING)


def reserved_bytes(row: sa.Row[Any]) -> int:
    """Return the bytes of a job's files, with space reserved for its results."""
    # The source counts twice while it is kept: its translation has about the same size.
    return int(2 * row.input_size_bytes + (row.result_size_bytes or 0) + (row.errors_size_bytes or 0))


def change_stored(connection: sa.Connection, key_id: str | None, num_jobs: int, size_bytes: int) -> None:
    """Add to the number and the bytes of a key's jobs, and of all jobs."""
    change_total(connection, Resource.JOBS, key_id, num_jobs, size_bytes)
    change_total(connection, Resource.ALL_JOBS, None, num_jobs, size_bytes)


def stored_bytes_of_key(database: Database, key_id: str | None) -> int:
    """Return the bytes of a key's files, or of all callers without a key. Raises StoreError."""
    with database.reading() as connection:
        return read_total(connection, Resource.JOBS, key_id).size_bytes


def stored_bytes_by_key(database: Database) -> dict[str | None, int]:
    """Return the same for every key that has had jobs. Raises StoreError."""
    with database.reading() as connection:
        rows = connection.execute(sa.select(TOTALS).where(TOTALS.c.resource == Resource.JOBS)).all()
        return {row.owner or None: row.size_bytes for row in rows}


def new_row(new: NewJob, month: str, now: datetime) -> dict[str, Any]:
    """Return the row of a new queued job."""
    return {
        **{each.name: getattr(new, each.name) for each in fields(new) if each.name in JOBS.c},
        "state": JobState.QUEUED,
        "request": _REQUESTS.dump_json(new.job_request).decode(),
        "charged_month": month,
        "created_at": now,
    }


def as_job(row: sa.Row[Any]) -> Job:
    """Convert a complete row to a job.

    Raises:
        JobUnreadable: another version of this program wrote the row, or it is damaged.
    """
    files = {
        "result": _kept(row.result, row.result_size_bytes, row.result_sha256),
        "errors": _kept(row.errors, row.errors_size_bytes, None),
    }
    try:
        job_request = _REQUESTS.validate_json(row.request)
        return _JOBS.validate_python({**row._asdict(), **files, "job_request": job_request})
    except (ValueError, TypeError, InputError) as error:
        raise JobUnreadable(row.id) from error


def _kept(blob: str | None, size_bytes: int | None, sha256: str | None) -> StoredFile | None:
    return None if blob is None else StoredFile(blob, size_bytes or 0, sha256 or "")
