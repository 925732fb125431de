"""Everything jobs over HTTP raise on purpose.

JobError
├─ UnknownJob       the caller has no such job
├─ UnknownDocument  there is no such document, or this is not its document key
├─ FileRefused      a file cannot be translated
├─ JobUnfinished    what was asked for is there once the job has ended
├─ NoResult         the job ended without one
├─ TooManyJobs      the caller has as many that are not done as one may have
├─ JobsFull         there is no room for the file
├─ TooManyBytes     the caller has no room for the file
├─ JobUnreadable    a row of the database is no job that this program knows
├─ LeaseLost        another worker goes on with the job
└─ AddressRefused   a webhook's address is none that this server sends to
"""

from dataclasses import dataclass

from dragoman.errors import DragomanError


class JobError(DragomanError):
    """Root of the tree."""


@dataclass(eq=False)
class UnknownJob(JobError):  # noqa: N818 -- says it without the suffix, as do those below
    """There is none of this id, or it is another's, or its time is over."""

    def __str__(self) -> str:
        return "there is no such job; it never was, was deleted, or its time is over"


@dataclass(eq=False)
class UnknownDocument(JobError):  # noqa: N818 -- as above
    """There is none of this id and document key, or none any more."""

    def __str__(self) -> str:
        return "there is no such document; it was fetched already, or its time is over"


@dataclass(eq=False)
class FileRejected(JobError):  # noqa: N818 -- as above
    """A file is not what its name says, is damaged, is unsafe or of no known kind."""

    file_name: str
    problem: str
    """What is wrong, where, and what to do."""

    def __str__(self) -> str:
        return f"{self.file_name}: {self.problem}"


@dataclass(eq=False)
class JobUnfinished(JobError):  # noqa: N818 -- as above
    """It has not ended."""

    state: str

    def __str__(self) -> str:
        return f"the job is {self.state}; ask again when it has ended"


@dataclass(eq=False)
class NoResult(JobError):  # noqa: N818 -- as above
    """It ended without what was asked for."""

    problem: str

    def __str__(self) -> str:
        return f"there is none: {self.problem}"


@dataclass(eq=False)
class TooManyJobs(JobError):  # noqa: N818 -- as above
    """The caller has as many that are not done as one may have."""

    limit: int

    def __str__(self) -> str:
        return f"{self.limit} jobs are not done yet, which is the most one may have; come back when some are"


@dataclass(eq=False)
class JobsFull(JobError):  # noqa: N818 -- as above
    """There is no room for the file."""

    limit_bytes: int

    def __str__(self) -> str:
        return f"at most {self.limit_bytes} bytes of files are kept; delete jobs, or try again later"


@dataclass(eq=False)
class TooManyBytes(JobError):  # noqa: N818 -- as above
    """The caller has no room for the file."""

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
    """A row of the database is no job that this program knows."""

    job_id: str

    def __str__(self) -> str:
        return f"job {self.job_id} cannot be read from the database; another version may have written it"


@dataclass(eq=False)
class LeaseLost(JobError):  # noqa: N818 -- as above
    """A worker was silent for so long that another one goes on with its job."""

    job_id: str

    def __str__(self) -> str:
        return f"job {self.job_id} has another worker"


@dataclass(eq=False)
class AddressRejected(JobError):  # noqa: N818 -- as above
    """A webhook's address is none that this server sends to."""

    problem: str

    def __str__(self) -> str:
        return self.problem
