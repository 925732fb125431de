"""Response bodies about jobs, also the source of their OpenAPI schemas."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from dragoman.types import Formality
from service.formats.review_marks import ReviewMarks
from service.http.openapi import DocumentedModel, closed_examples, equal_fields
from service.http.validation import Count, File, Texts, listed
from service.jobs.job import Job, JobState
from service.text.options import PlaceholderMode
from service.translation.memory import MAX_THRESHOLD
from service.translation.options import OnFailure

PAGE_LENGTH, MAX_PAGE_LENGTH = 20, 100
MAX_COLUMNS = 64
MAX_COLUMN_LENGTH = 200


def _require_printable(name: str) -> str:
    if not name.isprintable():
        raise PydanticCustomError("unprintable", "has unprintable characters; remove them")
    return name


def _check_columns(columns: str | list[str]) -> str | list[str]:
    if len(named := listed(columns)) > MAX_COLUMNS:
        problem = "{count} columns exceed the limit of {limit}"
        raise PydanticCustomError("too_many", problem, {"count": len(named), "limit": MAX_COLUMNS})
    if any(len(column) > MAX_COLUMN_LENGTH or "\0" in column for column in named):
        raise PydanticCustomError(
            "column", "each must have at most {limit} characters, and no NUL", {"limit": MAX_COLUMN_LENGTH}
        )
    return columns


Name = Annotated[str, AfterValidator(_require_printable)]
"""Code of a language, or name of a model."""


class JobOptionsIn(DocumentedModel):
    """Options of a job: fields of a form, or parameters of the URL if the body is JSON lines."""

    model_config = ConfigDict(extra="forbid")

    source: Name = ""
    """Language of the file, as in `de`; `auto` detects it from the beginning of the file."""
    target: Name = ""
    """Target language; may be omitted if the server has one for the source."""
    model: Name = ""
    """Name of the only model to use, or its folder's name."""
    columns: Annotated[Texts, AfterValidator(_check_columns)] = Field([])
    """Columns of a table, or keys of JSON lines, to translate; repeat it for several."""
    join_lines: bool = False
    """Whether to read the lines of each paragraph of plain text as one text, broken again at the same width.
    Without it, only the lines of paragraphs that are wrapped throughout are."""
    on_failure: OnFailure = OnFailure.SOURCE
    """Text to write for one that cannot be translated: the text itself, or nothing."""
    formality: Formality | None = None
    """Form of address of the translation, with models that know forms of address."""
    placeholders: PlaceholderMode = PlaceholderMode.AUTO
    """Whether placeholders (`{name}`, `%s`), ICU messages, addresses, paths and code are kept intact. `auto`:
    they are. `off`: texts go to the model as they are."""
    review: ReviewMarks = ReviewMarks.MARK
    """Marks of translations for reviewers, in po, xliff and tmx. `mark`: state and author; `confidence`: the
    confidence, too; `off`: none."""
    memory: Name = ""
    """Id of a translation memory, whose exact matches are used instead of the model."""
    memory_threshold: Count = Field(MAX_THRESHOLD, ge=0, le=MAX_THRESHOLD)
    """With `memory`: similarity in per cent from which a pair is used that differs only in numbers and
    placeholders, with these replaced."""
    glossary: Name = ""
    """Id of a glossary, whose entries are copied: later changes have no effect on the job."""
    terms: str = ""
    """Terms in JSON, as in `[{"source": "Hund", "target": "hound"}]`; see `/v1/translate`."""
    forbidden: Texts = Field([])
    """Phrases of the target language that no translation may contain; repeat it for several."""
    file_name: str = ""
    """Replaces the file's own name; its suffix selects the format."""
    output_format: str = ""
    """Format of the translated file: of a PDF, `docx` (the default) or `txt`; otherwise the file's own."""


class CreateJobForm(JobOptionsIn):
    """A file to translate, with its options."""

    model_config = closed_examples({"file": "Ein Hund rennt.", "target": "en", "file_name": "letter.txt"})

    file: File
    """The file to translate."""


class ListJobsQuery(DocumentedModel):
    """One page of the list of jobs."""

    model_config = ConfigDict(extra="forbid")

    limit: Count = Field(PAGE_LENGTH, ge=1, le=MAX_PAGE_LENGTH)
    """Maximum number of jobs on the page."""
    cursor: str = Field("", pattern="^([0-9a-f]{32})?$")
    """`next_cursor` of the page before; omitted for the first page."""
    state: JobState | None = None
    """Only jobs in this state."""


class JobProgress(DocumentedModel):
    """Progress of a job."""

    entries: int
    """Number of texts in the file: lines, cells or paragraphs, depending on the format."""
    done: int
    """Number of processed texts, including failed ones."""
    failed: int
    """Number of texts that could not be translated; `/errors` lists them."""
    flagged: int
    """Number of translations that failed a check, as a number in them changed; `/errors` lists them. 0 until
    the job is done."""
    characters: int
    """Number of characters of all texts."""
    entries_per_s: float | None = None
    """Last measured rate; null before the first measurement."""
    time_left_s: float | None = None
    """Estimated seconds until the end; null while the job is queued and after its end."""


class JobResult(DocumentedModel):
    """The translated file."""

    file_name: str
    """The name of the file sent; of a PDF, with the suffix of the translated file."""
    size_bytes: int
    sha256: str
    """SHA-256 in hexadecimal digits; also the `ETag`."""


class JobResponse(DocumentedModel):
    """An asynchronous translation of a file."""

    id: str
    state: JobState
    """`queued` or `running`; finally `done`, `failed` or `cancelled`."""
    is_cancelling: bool
    """Whether cancellation is requested."""
    file_name: str
    source: str | None = None
    """Source language; null if it is the only one possible or not detected yet."""
    target: str | None = None
    """Target language; null if it is the only one possible."""
    model: str | None = None
    """The only model to use; null: the best for the pair."""
    columns: list[str]
    """Translated columns of a table, or keys of JSON lines."""
    join_lines: bool
    """Whether the lines of each paragraph of plain text are one text."""
    on_failure: OnFailure
    """Text that is written for one that cannot be translated."""
    formality: Formality | None = None
    """Form of address; null: the model chooses."""
    placeholders: PlaceholderMode
    """Whether placeholders are kept intact."""
    review: ReviewMarks
    """Marks of translations for reviewers."""
    memory: str | None = None
    """Id of the translation memory that is used."""
    output_format: str | None = None
    """Format of the translated file; null: the default."""
    glossary: str | None = None
    """Id of the glossary that was named."""
    num_terms: int | None = None
    """Number of terms that were copied for this job; null if there are none."""
    progress: JobProgress
    problem: str | None = None
    """Reason of the failure."""
    result: JobResult | None = None
    """The translated file; null until the job is done."""
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    expires_at: datetime | None = None
    """Time at which the job and its result are deleted; null until the job has ended."""


class JobsResponse(DocumentedModel):
    """The caller's own jobs, the latest first."""

    jobs: list[JobResponse]
    stored_bytes: int
    """Bytes of all of the caller's files, including documents, with the space reserved for results."""
    max_stored_bytes: int
    """Maximum of `stored_bytes`."""
    next_cursor: str | None = None
    """`cursor` of the next page; null if there is none."""


def job_response(job: Job) -> JobResponse:
    """Return a job as its owner sees it."""
    job_request, result = job.job_request, job.result
    progress = JobProgress(
        entries=job.num_entries,
        done=job.num_done,
        failed=job.num_failed,
        flagged=job.num_flagged,
        characters=job.num_characters,
        entries_per_s=None if job.entries_per_s is None else round(job.entries_per_s, 1),
        time_left_s=None if job.time_left_s is None else round(job.time_left_s, 1),
    )
    return JobResponse.model_validate(
        {
            **equal_fields(JobResponse, job_request.options, job_request, job),
            "source": job.detected_source or job_request.source,
            "formality": job_request.options.decoding.formality,
            "memory": job_request.memory_id,
            "output_format": job_request.output.removeprefix(".") or None,
            "glossary": job_request.glossary_id,
            "progress": progress,
            "result": result and {"file_name": job_request.result_name, **asdict(result)},
        }
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
