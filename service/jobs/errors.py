"""Errors of jobs over HTTP.

JobError
├─ UnknownJob       the caller has no such job
├─ UnknownDocument  there is no such document, or this is not its document key
├─ FileRejected     a file cannot be translated
├─ JobUnfinished    the result is available only when the job has ended
├─ NoResult         the job ended without a result
├─ TooManyJobs      the caller has the maximum number of unfinished jobs
├─ JobsFull         the file would exceed the byte limit of all jobs
├─ TooManyBytes     the file would exceed the caller's byte limit
├─ JobUnreadable    a row of the database is not a job that this version knows
├─ LeaseLost        another worker has taken over the job
└─ AddressRejected  this server does not send webhooks to this address
"""

from dataclasses import dataclass

from dragoman.errors import DragomanError


class JobError(DragomanError):
    """Base class of these errors."""


@dataclass(eq=False)
class UnknownJob(JobError):  # noqa: N818 -- clear without the suffix, like those below
    """No job has this id, or it belongs to another caller, or it has expired."""

    def __str__(self) -> str:
        return "there is no such job; it never was, was deleted, or its time is over"


@dataclass(eq=False)
class UnknownDocument(JobError):  # noqa: N818 -- as above
    """No document has this id and this key, or it no longer exists."""

    def __str__(self) -> str:
        return "there is no such document; it was fetched already, or its time is over"


@dataclass(eq=False)
class FileRejected(JobError):  # noqa: N818 -- as above
    """A file does not match its name, is damaged, is unsafe or has an unknown format."""

    file_name: str
    problem: str
    """What is wrong, where, and how to fix it."""

    def __str__(self) -> str:
        return f"{self.file_name}: {self.problem}"


@dataclass(eq=False)
class JobUnfinished(JobError):  # noqa: N818 -- as above
    """The job has not ended."""

    state: str

    def __str__(self) -> str:
        return f"the job is {self.state}; ask again when it has ended"


@dataclass(eq=False)
class NoResult(JobError):  # noqa: N818 -- as above
    """The job ended without the requested file."""

    problem: str

    def __str__(self) -> str:
        return f"there is none: {self.problem}"


@dataclass(eq=False)
class TooManyJobs(JobError):  # noqa: N818 -- as above
    """The caller has the maximum number of unfinished jobs."""

    limit: int

    def __str__(self) -> str:
        return f"{self.limit} jobs are not done yet, which is the most one may have; come back when some are"


@dataclass(eq=False)
class JobsFull(JobError):  # noqa: N818 -- as above
    """The file would exceed the byte limit of all jobs together."""

    limit_bytes: int

    def __str__(self) -> str:
        return f"at most {self.limit_bytes} bytes of files are kept; delete jobs, or try again later"


@dataclass(eq=False)
class TooManyBytes(JobError):  # noqa: N818 -- as above
    """The file would exceed the caller's byte limit."""

    limit_bytes: int
    kept_bytes: int
    new_bytes: int

    def __str__(self) -> str:
        return (
            f"{self.kept_bytes} bytes of your files are kept, of {self.limit_bytes} that may be, and this "
            f"takes {self.new_bytes} more with its translation; delete jobs that have ended, or send less"
        )


@dataclass(eq=False)
class JobUnreadable(JobError):  # noqa: N818 -- as above
    """A row of the database is not a job that this version knows."""

    job_id: str

    def __str__(self) -> str:
        return f"job {self.job_id} cannot be read from the database; another version may have written it"


@dataclass(eq=False)
class LeaseLost(JobError):  # noqa: N818 -- as above
    """A worker was silent for so long that another one took over its job."""

    job_id: str

    def __str__(self) -> str:
        return f"job {self.job_id} has another worker"


@dataclass(eq=False)
class AddressRejected(JobError):  # noqa: N818 -- as above
    """This server does not send webhooks to this address."""

    problem: str

    def __str__(self) -> str:
        return self.problem
