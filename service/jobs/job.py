"""The data of a job: its request, its state and its progress."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum

from service.errors import SERVER_FAILED
from service.formats.registry import output_name
from service.translation.options import BATCH, TranslationOptions

MODEL_FAILED = "the model cannot be opened; the server's log says why"
FILE_GONE = "its file no longer exists"
UNREADABLE = "it cannot be read from the database; see the server's log"
MAX_SETBACKS = 4
"""Number of consecutive attempts that die or break off without any progress, after which a job fails."""
MANY_SETBACKS = f"{MAX_SETBACKS} attempts in a row failed without progress; the server's log says why"
SERVERS_FAULTS = frozenset({SERVER_FAILED, MODEL_FAILED, FILE_GONE, MANY_SETBACKS, UNREADABLE})
"""Messages of failures that no other file would have avoided."""


UNCHANGED = "unchanged"
MAX_TIME_MS = 2**48
ID_LENGTH = 32


class JobState(StrEnum):
    """State of a job. The last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL_STATES = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Options of a file's translation."""

    file_name: str
    """The client's name of the file; never part of a path on the server."""
    source: str | None
    """Language code; `auto` or None to detect it. If detection is off, None means the only possible one."""
    target: str | None
    options: TranslationOptions = BATCH
    """Without terms, which are in the job's file of terms."""
    columns: tuple[str, ...] = ()
    join_lines: bool = False
    glossary_id: str | None = None
    """Glossary that the client named; its entries at that time are in the job's file of terms."""
    memory_id: str | None = None
    """Translation memory whose exact matches are used."""
    memory_threshold: float = 1.0
    """Similarity from which its pairs are used that differ only in numbers and placeholders."""
    output: str = ""
    """Suffix of the result; empty for the format's default; `UNCHANGED` if the file itself is the result."""

    @property
    def result_name(self) -> str:
        """Name of the translated file."""
        return self.file_name if self.output == UNCHANGED else output_name(self.file_name, self.output)


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job whose file was checked, before it is stored."""

    id: str
    key_id: str | None
    job_request: JobRequest
    input_size_bytes: int
    num_entries: int
    num_characters: int
    document_key_sha256: str | None = None
    """Hexadecimal digits; None if the job is not a document."""
    num_terms: int | None = None
    """Number of terms in the job's file of terms; None if there is none."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in the blob store."""

    blob: str
    size_bytes: int
    sha256: str = ""
    """Hexadecimal digits; empty if unknown."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as stored in the database."""

    id: str
    key_id: str | None
    job_request: JobRequest
    state: JobState
    is_cancelling: bool
    """Whether the job is to be cancelled by a worker."""
    input_size_bytes: int
    num_characters: int
    """Characters of all entries; charged before the job is queued."""
    charged_month: str
    num_entries: int
    num_done: int
    """Processed entries, failed ones included."""
    num_failed: int
    num_flagged: int
    """Entries whose translation failed a check and was used all the same; 0 until the job is done."""
    entries_per_s: float | None
    """Latest measured rate; None before the first measurement."""
    problem: str | None
    """Why the job failed, or why a document's first text that is not translated stayed as it was."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    """Time at which the job and its files are removed; None until the job has ended."""
    result: StoredFile | None
    errors: StoredFile | None
    """List of entries that were not translated or were cut; None if there are none."""
    worker: str | None
    document_key_sha256: str | None
    """Hash of a document's key: only its id and this key together give access. None for other jobs."""
    detected_source: str | None
    """Source language, if it is detected rather than named, and known by now."""
    num_terms: int | None = None
    """Number of terms in the job's file of terms; None if there is none."""

    @property
    def is_document(self) -> bool:
        """Return whether the job needs its document key."""
        return self.document_key_sha256 is not None

    @property
    def has_ended(self) -> bool:
        return self.state in FINAL_STATES

    @property
    def remark(self) -> str:
        """Return problems of a document that is done, for its client; empty if all of it is translated."""
        return (
            f"{self.num_failed} of {self.num_entries} texts are not translated; the first: {self.problem}"
            if self.problem
            else ""
        )

    @property
    def time_left_s(self) -> float | None:
        """Estimated seconds left; None if the job is not running or its rate is unknown."""
        if self.state is not JobState.RUNNING or not self.entries_per_s:
            return None
        return max(self.num_entries - self.num_done, 0) / self.entries_per_s


@dataclass(frozen=True, slots=True)
class RunProgress:
    """Progress that a worker reports for its job."""

    num_done: int
    num_failed: int
    entries_per_s: float | None = None
    detected_source: str | None = None


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """Final state of a job, with its files and its refund."""

    state: JobState
    num_failed: int = 0
    num_flagged: int = 0
    problem: str | None = None
    result: StoredFile | None = None
    errors: StoredFile | None = None
    refund_characters: int = 0
    """Charged characters that were not translated."""
    detected_source: str | None = None


class ClaimKind(Enum):
    """Kind of jobs that a worker claims."""

    ANY = 1
    DOCUMENTS = 2
    """Only documents, so that they need not wait for long jobs."""
    FIRST_OF_KEY = 3
    """Only jobs and documents of keys of which none is running, so that they need not wait for other keys."""


def new_job_id(now: datetime) -> str:
    """Return 32 hexadecimal digits that sort by time: 48 bits of milliseconds, as in a UUID of version 7
    (https://www.rfc-editor.org/info/rfc9562), and 80 random bits, which nobody can guess.
    """
    return f"{int(now.timestamp() * 1000) % MAX_TIME_MS:012x}{secrets.token_hex(10)}"


def is_job_id(text: str) -> bool:
    """Return whether a client's text may be a job id."""
    return len(text) == ID_LENGTH and text.isascii() and text.isalnum()
