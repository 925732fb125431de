"""Requests and responses about translation memories."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from service.http.openapi import DocumentedModel, closed_examples
from service.http.validation import Count, Flag


def _check_filter(text: str) -> str:
    if len(text) == 1:
        raise PydanticCustomError("short_filter", "has one character; send two or more")
    return text


class TranslationMemory(DocumentedModel):
    """A stored translation memory, without its segments."""

    translation_memory_id: str
    name: str
    source_language: str
    target_languages: list[str]
    """One language, with its regional variants."""
    segment_count: int = Field(ge=0)
    creation_time: datetime
    updated_time: datetime


class TranslationMemories(DocumentedModel):
    """A page of the memories of a key."""

    translation_memories: list[TranslationMemory]
    total_count: int = Field(ge=0)
    """Number of memories on all pages."""


class MemoriesQuery(DocumentedModel):
    """A page of memories."""

    page: Count = Field(0, ge=0)
    """Number of the page, from 0."""
    page_size: Count = Field(25, ge=1, le=25)
    """Maximum number of memories on a page. DeepL's default is 10, but its command goes on with pages of 25,
    and would miss some."""


class SourceFileIn(DocumentedModel):
    """The file that an import will get."""

    model_config = ConfigDict(extra="forbid")

    file_name: str = Field(max_length=100)
    content_length: Count = Field(ge=1)
    """Its size in bytes."""
    content_type: str = Field("application/xml", max_length=127)


class ImportParametersIn(DocumentedModel):
    """Options of an import."""

    model_config = ConfigDict(extra="forbid")

    display_name: str = ""
    """Name of the memory; empty: that of the file."""


class ImportMemoryIn(DocumentedModel):
    """A memory to import."""

    model_config = closed_examples(
        {
            "source_file": {"file_name": "legal.tmx", "content_length": 12345},
            "parameters": {"display_name": "Legal"},
        }
    )

    source_file: SourceFileIn
    parameters: ImportParametersIn = ImportParametersIn()


class CreatedImport(DocumentedModel):
    """An import that waits for its file."""

    job_id: str
    upload_url: str
    """Address for a PUT of the TMX file, without a key."""
    expires_at: datetime


class MemoryJobParameters(DocumentedModel):
    """Options of a job: of an import its name, of an export its memory."""

    display_name: str = ""
    translation_memory_id: str = ""


class CreatedExport(DocumentedModel):
    """An export."""

    job_id: str
    parameters: MemoryJobParameters


class StatusMetadata(DocumentedModel):
    """Step that a job waits for."""

    required_action: str


class MemoryJobResult(DocumentedModel):
    """The state of a job; fields that do not apply are absent."""

    status: Literal["awaiting_input", "completed", "expired"]
    status_metadata: StatusMetadata | None = None
    translation_memory_id: str = ""
    """The imported memory."""
    skipped_segment_count: int = Field(0, ge=0)
    """Units of an imported file that have no pair of texts in its two languages."""
    download_url: str = ""
    """Address of the exported TMX file, which needs no key."""
    expires_at: datetime | None = None


class SourceFileOut(DocumentedModel):
    """The file of an import, as it was announced."""

    content_type: str
    content_length: int


class MemoryJob(DocumentedModel):
    """An import or an export of a translation memory."""

    job_id: str
    product: Literal["translation_memory"]
    operation: Literal["import", "export"]
    creation_time: datetime
    updated_time: datetime
    parameters: MemoryJobParameters
    source_file: SourceFileOut | None = None
    """Only of an import."""
    results: list[MemoryJobResult] = Field(min_length=1, max_length=1)


class TargetSegment(DocumentedModel):
    """The translation of a segment."""

    target_segment_id: str
    target_language: str
    target_text: str


class MemorySegment(DocumentedModel):
    """A segment with its translation."""

    source_segment_id: str
    source_text: str
    targets: list[TargetSegment]


class MemorySegments(DocumentedModel):
    """A page of the segments of a memory."""

    segments: list[MemorySegment]
    segment_count: int = Field(ge=0)
    """Number of segments of the whole memory."""
    next_page_cursor: str = ""
    """`page_cursor` of the next page; absent on the last."""


class SegmentsQuery(DocumentedModel):
    """A page of segments."""

    page_size: Count = Field(50, ge=1, le=100)
    """Maximum number of segments on a page."""
    page_cursor: str = Field("", pattern="^([0-9a-f]{32})?$")
    """`next_page_cursor` of the page before."""
    filter_text: Annotated[str, AfterValidator(_check_filter)] = ""
    """Text of two characters or more that the segment or its translation contains."""
    filter_case_sensitive: Flag = False
    """Whether capitals count in it."""

    def fits(self, text: str) -> bool:
        """Return whether a text contains `filter_text`."""
        if self.filter_case_sensitive:
            return self.filter_text in text
        return self.filter_text.casefold() in text.casefold()
