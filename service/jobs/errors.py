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
        return "job not found; it may have been deleted or have expired"


@dataclass(eq=False)
class UnknownDocument(JobError):  # noqa: N818 -- as above
    """No document has this id and this key, or it no longer exists."""

    def __str__(self) -> str:
        return "document not found; it may have been downloaded already or have expired"


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
        return f"the job is {self.state}; retry when it has ended"


@dataclass(eq=False)
class NoResult(JobError):  # noqa: N818 -- as above
    """The job ended without the requested file."""

    problem: str

    def __str__(self) -> str:
        return f"no result: {self.problem}"


@dataclass(eq=False)
class TooManyJobs(JobError):  # noqa: N818 -- as above
    """The caller has the maximum number of unfinished jobs."""

    limit: int

    def __str__(self) -> str:
        return f"the limit of {self.limit} unfinished jobs is reached; retry when one has ended"


@dataclass(eq=False)
class JobsFull(JobError):  # noqa: N818 -- as above
    """The file would exceed the byte limit of all jobs together."""

    limit_bytes: int

    def __str__(self) -> str:
        return f"the limit of {self.limit_bytes} stored bytes is reached; delete jobs, or try again later"


@dataclass(eq=False)
class TooManyBytes(JobError):  # noqa: N818 -- as above
    """The file would exceed the caller's byte limit."""

    limit_bytes: int
    kept_bytes: int
    new_bytes: int

    def __str__(self) -> str:
        return (
            f"your files have {self.kept_bytes} bytes of the limit of {self.limit_bytes}, and this file "
            f"needs {self.new_bytes} more with its translation; delete jobs that have ended, or send less"
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
        return f"another worker has taken over job {self.job_id}"


@dataclass(eq=False)
class AddressRejected(JobError):  # noqa: N818 -- as above
    """This server does not send webhooks to this address."""

    problem: str

    def __str__(self) -> str:
        return self.problem
