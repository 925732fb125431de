"""Conversion between jobs and database rows."""

import json
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from service.batch.output_files import OnFailure
from service.jobs.errors import JobUnreadable
from service.jobs.job import Job, JobRequest, JobState, NewJob, StoredFile, WebhookState


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


def as_job(row: Row[Any]) -> Job:
    """Convert a complete row to a job.

    Raises:
        JobUnreadable: another version of this program wrote the row, or it is damaged.
    """
    try:
        return _as_job(row)
    except (ValueError, TypeError) as error:
        raise JobUnreadable(row.id) from error


def _as_job(row: Row[Any]) -> Job:
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
