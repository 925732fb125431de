"""SQL conditions that select rows of jobs."""

from datetime import datetime

from sqlalchemy import ColumnElement, ScalarSelect, and_, func, select

from service.jobs.job import JobState
from service.jobs.tables import JOBS


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
