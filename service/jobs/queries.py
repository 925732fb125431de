"""SQL conditions that select rows of jobs, and the number of bytes that jobs' files take."""

from datetime import datetime

from sqlalchemy import ColumnElement, Connection, ScalarSelect, and_, func, inspect, select

from service.accounts.database import Database
from service.jobs.job import JobState
from service.jobs.tables import JOBS

# The source counts twice while it is kept, to reserve space for its translation of about the same size.
_SIZES = (
    2 * JOBS.c.input_size_bytes
    + func.coalesce(JOBS.c.result_size_bytes, 0)
    + func.coalesce(JOBS.c.errors_size_bytes, 0)
)
_TOTAL = func.coalesce(func.sum(_SIZES), 0)


def of_key(key_id: str | None) -> ColumnElement[bool]:
    """Select the jobs of a key without documents, which need their document keys."""
    return and_(has_key(key_id), JOBS.c.document_key_sha256.is_(None))


def has_key(key_id: str | None) -> ColumnElement[bool]:
    return JOBS.c.key_id.is_(None) if key_id is None else JOBS.c.key_id == key_id


def num_running(now: datetime) -> ScalarSelect[int]:
    """Count the running jobs of the same key as a row's; all callers without a key count as one."""
    others = JOBS.alias()
    is_worked_on = and_(others.c.state == JobState.RUNNING, others.c.leased_until > now)
    is_same_key = others.c.key_id.is_not_distinct_from(JOBS.c.key_id)
    return select(func.count()).where(is_worked_on, is_same_key).correlate(JOBS).scalar_subquery()


def is_leased_to(job_id: str, worker: str) -> ColumnElement[bool]:
    return and_(JOBS.c.id == job_id, JOBS.c.worker == worker, JOBS.c.state == JobState.RUNNING)


def stored_bytes(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    """Return the bytes of the files of all jobs that fit the conditions, with space reserved for results."""
    return int(connection.execute(select(_TOTAL).where(*conditions)).scalar_one())


def stored_bytes_of_key(database: Database, key_id: str | None) -> int:
    """Return the bytes of a key's files, or of all callers without a key. Raises StoreError."""
    with database.reading() as connection:
        return stored_bytes(connection, has_key(key_id))


def stored_bytes_by_key(database: Database) -> dict[str | None, int]:
    """Return the same for every key that has jobs; empty if there is no table of jobs. Raises StoreError."""
    with database.reading() as connection:
        if not inspect(connection).has_table(JOBS.name):
            return {}
        rows = connection.execute(select(JOBS.c.key_id, _TOTAL).group_by(JOBS.c.key_id))
        return {key_id: int(size_bytes) for key_id, size_bytes in rows}
