"""Response bodies about jobs, also the source of their OpenAPI schemas."""

from collections.abc import Sequence
from datetime import datetime

from pydantic import BaseModel, Field

from service.batch.output_files import OnFailure
from service.jobs.job import Job, JobState, WebhookState


class JobProgress(BaseModel):
    """How far a job is."""

    entries: int = Field(description="Texts in the file: lines, cells, paragraphs, as its format has them.")
    done: int = Field(description="Of these, those that the work has passed, failed ones included.")
    failed: int = Field(description="Of these, those that could not be translated; `/errors` tells of each.")
    characters: int = Field(description="Of all texts together.")
    entries_per_s: float | None = Field(None, description="As last measured; null before.")
    time_left_s: float | None = Field(None, description="About; null while it waits, and once it has ended.")


class JobResult(BaseModel):
    """The translated file."""

    size_bytes: int
    sha256: str = Field(description="In hexadecimal digits; also its `ETag`.")


class JobWebhook(BaseModel):
    """What became of the message about a job's end."""

    state: WebhookState = Field(
        description="`pending` until it is taken, `failed` once it was given up: it is not sent again."
    )
    tries: int = Field(description="Times it was sent, one that is under way included.")
    problem: str | None = Field(None, description="Why the last try failed.")
    next_try_at: datetime | None = Field(None, description="Null before the job ends, and after the last.")


class JobResponse(BaseModel):
    """A file that is translated, or was."""

    id: str
    state: JobState = Field(
        description="`queued`, `running`; at last `done`, `failed` or `cancelled`, after which it stays so."
    )
    is_cancelling: bool = Field(description="Whether it is about to be cancelled.")
    file_name: str
    source: str | None = Field(
        None, description="Language of the file; null: the only one possible, or not detected yet."
    )
    target: str | None = Field(None, description="Language translated into; null: the only one possible.")
    model: str | None = Field(None, description="The only model to use; null: the best for the pair.")
    columns: list[str] = Field(description="Of a table, or keys of JSON lines, that are translated.")
    on_failure: OnFailure = Field(description="What stands for a text that cannot be translated.")
    webhook_url: str | None = Field(None, description="Who is told of its end.")
    webhook: JobWebhook | None = Field(None, description="What became of that; null where nobody is told.")
    progress: JobProgress
    problem: str | None = Field(None, description="Why it failed.")
    result: JobResult | None = Field(None, description="Null until it is done.")
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    expires_at: datetime | None = Field(
        None, description="When it goes, with its result; null until it has ended."
    )


class JobsResponse(BaseModel):
    """The caller's own jobs, the latest first."""

    jobs: list[JobResponse]
    stored_bytes: int = Field(
        description="That all of the caller's files take, documents included, with what results may take."
    )
    max_stored_bytes: int = Field(description="Most that they may take.")
    next_cursor: str | None = Field(
        None, description="As `cursor`, it asks for those after these; null: none are."
    )


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
