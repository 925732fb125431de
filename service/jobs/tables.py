"""The table of jobs and its schema version. Translations of jobs are in the tables of the journal."""

import json
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from service.accounts.database import Database, UtcTime
from service.accounts.database import create_tables as create_schema
from service.batch.journal import METADATA as JOURNAL_METADATA
from service.batch.texts import OnFailure
from service.jobs.errors import JobUnreadable
from service.jobs.job import Job, JobRequest, JobState, NewJob, StoredFile, WebhookState

SCHEMA_VERSION = 4
"""Version of the tables. Each change increments it."""
JOBS_LOCK = 0x_D8A6_0AB5
"""Advisory lock in PostgreSQL that serialises programs that create tables or add jobs."""

METADATA = sa.MetaData()

SCHEMA = sa.Table("jobs_schema_version", METADATA, sa.Column("version", sa.Integer, nullable=False))

JOBS = sa.Table(
    "jobs",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),  # sorts by creation time
    sa.Column("key_id", sa.String(8)),  # NULL: callers without a key
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("file_name", sa.Text, nullable=False),
    sa.Column("source", sa.Text),  # NULL: detect it
    sa.Column("target", sa.Text),
    sa.Column("model", sa.Text),
    sa.Column("columns", sa.Text, nullable=False),  # JSON
    sa.Column("on_failure", sa.String(16), nullable=False),
    sa.Column("webhook_url", sa.Text),
    sa.Column("input_size_bytes", sa.BigInteger, nullable=False),
    sa.Column("num_characters", sa.BigInteger, nullable=False),
    sa.Column("charged_month", sa.String(7), nullable=False),
    sa.Column("num_entries", sa.BigInteger, nullable=False),
    sa.Column("num_done", sa.BigInteger, nullable=False),
    sa.Column("num_failed", sa.BigInteger, nullable=False),
    sa.Column("entries_per_s", sa.Float),
    sa.Column("problem", sa.Text),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("started_at", UtcTime),
    sa.Column("finished_at", UtcTime),
    sa.Column("expires_at", UtcTime),
    sa.Column("result", sa.Text),  # the blob's name
    sa.Column("result_size_bytes", sa.BigInteger),
    sa.Column("result_sha256", sa.String(64)),
    sa.Column("errors", sa.Text),  # the blob's name
    sa.Column("errors_size_bytes", sa.BigInteger),
    sa.Column("is_cancelling", sa.Boolean, nullable=False),
    sa.Column("worker", sa.String(32)),
    sa.Column("leased_until", UtcTime),
    sa.Column("num_setbacks", sa.Integer, nullable=False),  # consecutive ones, without progress
    sa.Column("webhook_tries", sa.Integer, nullable=False),
    sa.Column("webhook_due_at", UtcTime),  # NULL: nothing is due
    sa.Column("webhook_state", sa.String(16)),  # NULL: there is no webhook
    sa.Column("webhook_problem", sa.Text),  # problem of the last try
    sa.Column("document_key_sha256", sa.String(64)),  # NULL: the job is not a document
    sa.Column("detected_source", sa.Text),
    sa.Index("jobs_by_key", "key_id", "id"),
    sa.Index("jobs_by_state", "state", "id"),
)


def create_tables(database: Database) -> None:
    """Create missing tables.

    Raises:
        SchemaUnknown: the tables have a version that this program does not know.
        StoreError: the database cannot be used.
    """
    with database.writing() as connection:
        create_schema(connection, database.name, SCHEMA, SCHEMA_VERSION, JOBS_LOCK)
        JOURNAL_METADATA.create_all(connection)


# The source counts twice while it is kept, to reserve space for its translation of about the same size.
_SIZES = (
    2 * JOBS.c.input_size_bytes
    + sa.func.coalesce(JOBS.c.result_size_bytes, 0)
    + sa.func.coalesce(JOBS.c.errors_size_bytes, 0)
)
_TOTAL = sa.func.coalesce(sa.func.sum(_SIZES), 0)


def of_key(key_id: str | None) -> sa.ColumnElement[bool]:
    """Select the jobs of a key without documents, which need their document keys."""
    return sa.and_(has_key(key_id), JOBS.c.document_key_sha256.is_(None))


def has_key(key_id: str | None) -> sa.ColumnElement[bool]:
    return JOBS.c.key_id.is_(None) if key_id is None else JOBS.c.key_id == key_id


def num_running(now: datetime) -> sa.ScalarSelect[int]:
    """Count the running jobs of the same key as a row's; all callers without a key count as one."""
    others = JOBS.alias()
    is_worked_on = sa.and_(others.c.state == JobState.RUNNING, others.c.leased_until > now)
    is_same_key = others.c.key_id.is_not_distinct_from(JOBS.c.key_id)
    return sa.select(sa.func.count()).where(is_worked_on, is_same_key).correlate(JOBS).scalar_subquery()


def is_leased_to(job_id: str, worker: str) -> sa.ColumnElement[bool]:
    return sa.and_(JOBS.c.id == job_id, JOBS.c.worker == worker, JOBS.c.state == JobState.RUNNING)


def stored_bytes(connection: sa.Connection, *conditions: sa.ColumnElement[bool]) -> int:
    """Return the bytes of the files of all jobs that fit the conditions, with space reserved for results."""
    return int(connection.execute(sa.select(_TOTAL).where(*conditions)).scalar_one())


def stored_bytes_of_key(database: Database, key_id: str | None) -> int:
    """Return the bytes of a key's files, or of all callers without a key. Raises StoreError."""
    with database.reading() as connection:
        return stored_bytes(connection, has_key(key_id))


def stored_bytes_by_key(database: Database) -> dict[str | None, int]:
    """Return the same for every key that has jobs; empty if there is no table of jobs. Raises StoreError."""
    with database.reading() as connection:
        if not sa.inspect(connection).has_table(JOBS.name):
            return {}
        rows = connection.execute(sa.select(JOBS.c.key_id, _TOTAL).group_by(JOBS.c.key_id))
        return {key_id: int(size_bytes) for key_id, size_bytes in rows}


def new_row(new: NewJob, month: str, now: datetime) -> dict[str, Any]:
    """Return the row of a new queued job."""
    job_request = new.job_request
    return {
        "id": new.id,
        "key_id": new.key_id,
        "state": JobState.QUEUED,
        "file_name": job_request.file_name,
        "source": job_request.source,
        "target": job_request.target,
        "model": job_request.model,
        "columns": json.dumps(job_request.columns),
        "on_failure": job_request.on_failure,
        "webhook_url": job_request.webhook_url,
        "input_size_bytes": new.input_size_bytes,
        "num_characters": new.num_characters,
        "charged_month": month,
        "num_entries": new.num_entries,
        "num_done": 0,
        "num_failed": 0,
        "created_at": now,
        "is_cancelling": False,
        "num_setbacks": 0,
        "webhook_tries": 0,
        "webhook_state": None if job_request.webhook_url is None else WebhookState.PENDING,
        "document_key_sha256": new.document_key_sha256,
    }


def as_job(row: sa.Row[Any]) -> Job:
    """Convert a complete row to a job.

    Raises:
        JobUnreadable: another version of this program wrote the row, or it is damaged.
    """
    try:
        return _as_job(row)
    except (ValueError, TypeError) as error:
        raise JobUnreadable(row.id) from error


def _as_job(row: sa.Row[Any]) -> Job:
    job_request = JobRequest(
        row.file_name,
        row.source,
        row.target,
        row.model,
        tuple(json.loads(row.columns)),
        OnFailure(row.on_failure),
        row.webhook_url,
    )
    return Job(
        id=row.id,
        key_id=row.key_id,
        job_request=job_request,
        state=JobState(row.state),
        is_cancelling=bool(row.is_cancelling),
        input_size_bytes=row.input_size_bytes,
        num_characters=row.num_characters,
        charged_month=row.charged_month,
        num_entries=row.num_entries,
        num_done=row.num_done,
        num_failed=row.num_failed,
        entries_per_s=row.entries_per_s,
        problem=row.problem,
        created_at=row.created_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        expires_at=row.expires_at,
        result=_kept(row.result, row.result_size_bytes, row.result_sha256),
        errors=_kept(row.errors, row.errors_size_bytes, None),
        worker=row.worker,
        webhook_tries=row.webhook_tries,
        webhook_due_at=row.webhook_due_at,
        webhook_state=None if row.webhook_state is None else WebhookState(row.webhook_state),
        webhook_problem=row.webhook_problem,
        document_key_sha256=row.document_key_sha256,
        detected_source=row.detected_source,
    )


def _kept(blob: str | None, size_bytes: int | None, sha256: str | None) -> StoredFile | None:
    return None if blob is None else StoredFile(blob, size_bytes or 0, sha256 or "")
