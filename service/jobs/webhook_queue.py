"""The queue of messages about ends of jobs, in the database. One process at a time claims each message."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, or_, select, true, update

from service.accounts.accounts import Clock
from service.accounts.database import Database
from service.jobs.errors import JobUnreadable
from service.jobs.job import Job, WebhookState
from service.jobs.problems import UNREADABLE
from service.jobs.rows import as_job
from service.jobs.tables import JOBS


@dataclass(frozen=True, slots=True)
class WebhookQueue:
    """Due messages. All methods wait for the database, and raise StoreError if it cannot be used."""

    database: Database
    clock: Clock

    def claim(self, hold_s: float, busy: Collection[str | None] = ()) -> Job | None:
        """Return the job whose message has been due longest, and count a try; None if none is due.

        Args:
            hold_s: seconds for which no other process claims it.
            busy: keys whose jobs are skipped.
        """
        now = self.clock.now()
        is_due = JOBS.c.webhook_due_at <= now
        due = select(JOBS).where(is_due, _is_none_of(busy)).order_by(JOBS.c.webhook_due_at).limit(1)
        with self.database.reading() as connection:  # this query takes no lock, and mostly finds nothing
            if connection.execute(due).first() is None:
                return None
        with self.database.writing() as connection:
            row = connection.execute(due.with_for_update(skip_locked=True)).first()
            if row is None:
                return None
            held = {"webhook_due_at": now + timedelta(seconds=hold_s), "webhook_tries": row.webhook_tries + 1}
            mine = update(JOBS).where(JOBS.c.id == row.id)
            connection.execute(mine.values(held))
            try:
                return as_job(connection.execute(select(JOBS).where(JOBS.c.id == row.id)).one())
            except JobUnreadable:  # it must not block all other claims for ever
                connection.execute(mine.values(_ended(WebhookState.FAILED, UNREADABLE)))
                return None

    def retry(self, job_id: str, in_s: float, problem: str) -> None:
        """Schedule the next try of a message, `in_s` seconds from now."""
        due_at = self.clock.now() + timedelta(seconds=in_s)
        self._set(job_id, {"webhook_due_at": due_at, "webhook_problem": problem})

    def end(self, job_id: str, state: WebhookState, problem: str | None = None) -> None:
        """Record the final state of a message, which is never sent again."""
        self._set(job_id, _ended(state, problem))

    def _set(self, job_id: str, values: dict[str, Any]) -> None:
        with self.database.writing() as connection:
            connection.execute(update(JOBS).where(JOBS.c.id == job_id).values(values))


def _ended(state: WebhookState, problem: str | None) -> dict[str, Any]:
    return {"webhook_due_at": None, "webhook_state": state, "webhook_problem": problem}


def _is_none_of(keys: Collection[str | None]) -> ColumnElement[bool]:
    named = [key for key in keys if key is not None]
    is_other = JOBS.c.key_id.not_in(named) if named else true()
    return JOBS.c.key_id.is_not(None) & is_other if None in keys else or_(JOBS.c.key_id.is_(None), is_other)
