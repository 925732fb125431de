"""Response bodies about jobs, also the source of their OpenAPI schemas."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, Field

from service.batch.output_files import OnFailure
from service.jobs.job import Job, JobState, WebhookState


class JobProgress(BaseModel):
    """Progress of a job."""

    entries: int = Field(
        description="Number of texts in the file: lines, cells or paragraphs, depending on the format."
    )
    done: int = Field(description="Number of processed texts, including failed ones.")
    failed: int = Field(description="Number of texts that could not be translated; `/errors` lists them.")
    characters: int = Field(description="Number of characters of all texts.")
    entries_per_s: float | None = Field(
        None, description="Last measured rate; null before the first measurement."
    )
    time_left_s: float | None = Field(
        None, description="Estimated seconds until the end; null while the job is queued and after its end."
    )


class JobResult(BaseModel):
    """The translated file."""

    size_bytes: int
    sha256: str = Field(description="SHA-256 in hexadecimal digits; also the `ETag`.")


class JobWebhook(BaseModel):
    """State of the webhook of a job."""

    state: WebhookState = Field(description="`pending` until it is delivered; `failed` after the last try.")
    tries: int = Field(description="Number of tries, including one in progress.")
    problem: str | None = Field(None, description="Reason for which the last try failed.")
    next_try_at: datetime | None = Field(
        None, description="Time of the next try; null before the job ends and after the last try."
    )


class JobResponse(BaseModel):
    """An asynchronous translation of a file."""

    id: str
    state: JobState = Field(description="`queued` or `running`; finally `done`, `failed` or `cancelled`.")
    is_cancelling: bool = Field(description="Whether cancellation is requested.")
    file_name: str
    source: str | None = Field(
        None, description="Source language; null if it is the only one possible or not detected yet."
    )
    target: str | None = Field(None, description="Target language; null if it is the only one possible.")
    model: str | None = Field(None, description="The only model to use; null: the best for the pair.")
    columns: list[str] = Field(description="Translated columns of a table, or keys of JSON lines.")
    on_failure: OnFailure = Field(description="What is written for a text that cannot be translated.")
    webhook_url: str | None = Field(None, description="URL that is notified when the job ends.")
    webhook: JobWebhook | None = Field(
        None, description="State of the notification; null without `webhook_url`."
    )
    progress: JobProgress
    problem: str | None = Field(None, description="Reason of the failure.")
    result: JobResult | None = Field(None, description="The translated file; null until the job is done.")
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    expires_at: datetime | None = Field(
        None, description="Time at which the job and its result are deleted; null until the job has ended."
    )


class JobsResponse(BaseModel):
    """The caller's own jobs, the latest first."""

    jobs: list[JobResponse]
    stored_bytes: int = Field(
        description="Bytes of all of the caller's files, including documents, with the "
        "space reserved for results."
    )
    max_stored_bytes: int = Field(description="Maximum of `stored_bytes`.")
    next_cursor: str | None = Field(None, description="`cursor` of the next page; null if there is none.")


def job_response(job: Job) -> JobResponse:
    """Return a job as its owner sees it."""
    job_request, result = job.job_request, job.result
    return JobResponse(
        id=job.id,
        state=job.state,
        is_cancelling=job.is_cancelling,
        file_name=job_request.file_name,
        source=job.detected_source or job_request.source,
        target=job_request.target,
        model=job_request.model,
        columns=list(job_request.columns),
        on_failure=job_request.on_failure,
        webhook_url=job_request.webhook_url,
        webhook=_present_webhook(job),
        progress=JobProgress(
            entries=job.num_entries,
            done=job.num_done,
            failed=job.num_failed,
            characters=job.num_characters,
            entries_per_s=None if job.entries_per_s is None else round(job.entries_per_s, 1),
            time_left_s=None if job.time_left_s is None else round(job.time_left_s, 1),
        ),
        problem=job.problem,
        result=None if result is None else JobResult(size_bytes=result.size_bytes, sha256=result.sha256),
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        expires_at=job.expires_at,
    )


def _present_webhook(job: Job) -> JobWebhook | None:
    if job.webhook_state is None:
        return None
    return JobWebhook(
        state=job.webhook_state,
        tries=job.webhook_tries,
        problem=job.webhook_problem,
        next_try_at=job.webhook_due_at,
    )


def present_page(jobs: Sequence[Job], limit: int, stored_bytes: int, max_stored_bytes: int) -> JobsResponse:
    """Return one page of at most `limit` jobs; `jobs` has one more if there is a next page."""
    shown = jobs[:limit]
    more = shown[-1].id if len(jobs) > limit else None
    return JobsResponse(
        jobs=[job_response(job) for job in shown],
        stored_bytes=stored_bytes,
        max_stored_bytes=max_stored_bytes,
        next_cursor=more,
    )
