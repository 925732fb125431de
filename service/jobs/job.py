"""What a job is: a file, what is wanted of it, and how far it has come."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from service.batch.output_files import OnFailure

MAX_TIME_MS = 2**48
ID_LENGTH = 32


class JobState(StrEnum):
    """Of a job. It ends in one of the last three, and is never anything else afterwards."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class WebhookState(StrEnum):
    """Of the message about a job's end."""

    PENDING = "pending"
    """It is sent once the job has ended, and again until it is taken."""
    DELIVERED = "delivered"
    FAILED = "failed"
    """It was given up, and is not sent again."""


ENDED = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What is wanted of a file."""

    file_name: str
    """As its sender calls it; never part of a path here."""
    source: str | None
    """Code of the language, as the models have it; None: to be detected."""
    target: str | None
    model: str | None = None
    columns: tuple[str, ...] = ()
    on_failure: OnFailure = OnFailure.SOURCE
    webhook_url: str | None = None


@dataclass(frozen=True, slots=True)
class NewJob:
    """A file that was checked and can be worked on."""

    id: str
    key_id: str | None
    job_request: JobRequest
    input_size_bytes: int
    num_entries: int
    num_characters: int
    document_key_sha256: str | None = None
    """In hexadecimal digits; of a document alone."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A file in the store of blobs."""

    blob: str
    size_bytes: int
    sha256: str = ""
    """In hexadecimal digits."""


@dataclass(frozen=True, slots=True)
class Job:
    """A job as the database has it."""

    id: str
    key_id: str | None
    job_request: JobRequest
    state: JobState
    is_cancelling: bool
    """It is to end and is being worked on."""
    input_size_bytes: int
    num_characters: int
    """Of all entries; charged before the work."""
    charged_month: str
    num_entries: int
    num_done: int
    """Entries that the work has passed, failed ones included."""
    num_failed: int
    entries_per_s: float | None
    """As last measured; None before."""
    problem: str | None
    """Why it failed."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    """When it and its files go; None while it has not ended."""
    result: Kept | None
    errors: Kept | None
    """Entries that could not be translated; None where there is none."""
    worker: str | None
    webhook_tries: int
    webhook_due_at: datetime | None
    """Of the next try; None where there is to be none, or the job has not ended."""
    webhook_state: WebhookState | None
    """None where there is no webhook."""
    webhook_problem: str | None
    """Why the last try failed."""
    document_key_sha256: str | None
    """Of a document: its id and the document key that this is of are what it is had by, and nothing else."""
    detected_source: str | None
    """Where nobody named the language of the file, and it is known by now."""

    @property
    def is_document(self) -> bool:
        """Whether it comes back whole or not at all, and belongs to whoever has its document key."""
        return self.document_key_sha256 is not None

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def time_left_s(self) -> float | None:
        """As far as it can be told: not of one that waits."""
        if self.state is not JobState.RUNNING or not self.entries_per_s:
            return None
        return max(self.num_entries - self.num_done, 0) / self.entries_per_s


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a worker has come."""

    num_done: int
    num_failed: int
    entries_per_s: float | None = None
    detected_source: str | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ends."""

    state: JobState
    num_failed: int = 0
    problem: str | None = None
    result: Kept | None = None
    errors: Kept | None = None
    refund_characters: int = 0
    """Of what was charged, for what was not translated."""
    detected_source: str | None = None


def new_job_id(now: datetime) -> str:
    """32 hexadecimal digits that sort by time: 48 bits of milliseconds, as in a UUID of version 7
    (https://www.rfc-editor.org/info/rfc9562), and 80 random ones, which nobody can guess.
    """
    return f"{int(now.timestamp() * 1000) % MAX_TIME_MS:012x}{secrets.token_hex(10)}"


def is_job_id(text: str) -> bool:
    """Whether a text that somebody sends may be one."""
    return len(text) == ID_LENGTH and text.isascii() and text.isalnum()
