"""Requests about jobs, as the OpenAPI document describes them; the routes parse them field by field."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from service.batch.output_files import OnFailure
from service.jobs.job import JobState

PAGE_LENGTH, MAX_PAGE_LENGTH = 20, 100


class JobOptionsIn(BaseModel):
    """Options of a job: fields of a form, or parameters of the URL if the body is JSON lines."""

    source: str = Field(
        "auto",
        description="Language of the file, as in `de`; `auto` detects it from the beginning of the file.",
    )
    target: str = Field(
        "", description="Target language; may be omitted if the server has one for the source."
    )
    model: str = Field("", description="Name of the only model to use, or its folder's name.")
    columns: list[str] = Field(
        [], description="Columns of a table, or keys of JSON lines, to translate; repeat it for several."
    )
    on_failure: OnFailure | Literal[""] = Field(
        OnFailure.SOURCE,
        description="What to write for a text that cannot be translated: the text itself, or nothing.",
    )
    webhook_url: str = Field("", description="URL to notify when the job ends, if the server allows it.")
    file_name: str = Field("", description="Replaces the file's own name; its suffix tells the format.")


class CreateJobForm(JobOptionsIn):
    """A file to translate, with its options."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"file": "Ein Hund rennt.", "target": "en", "file_name": "letter.txt"}]
        },
    )

    file: bytes = Field(description="The file to translate.")


class ListJobsQuery(BaseModel):
    """One page of the list of jobs."""

    limit: int = Field(
        PAGE_LENGTH, ge=1, le=MAX_PAGE_LENGTH, description="Maximum number of jobs on the page."
    )
    cursor: str = Field(
        pattern="^[0-9a-f]{32}$",
        default="",
        description="`next_cursor` of the page before; omitted for the first page.",
    )
    state: JobState | Literal[""] = Field("", description="Only jobs in this state.")
