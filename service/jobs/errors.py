"""Errors of jobs; `service/errors.py` has the tree of all errors."""

from service.errors import RETRY_AFTER, ErrorKind, ServiceError


class JobError(ServiceError):
    """Base class of these errors."""

    kind = ErrorKind.NOT_FOUND


class UnknownJob(JobError):  # noqa: N818 -- clear without the suffix, like those below
    """No job has this id, or it belongs to another caller, or it has expired."""

    MESSAGE = "job not found; it may have been deleted or have expired"


class UnknownDocument(JobError):  # noqa: N818 -- as above
    """No document has this id and this key, or it no longer exists."""

    MESSAGE = "document not found; it may have been downloaded already or have expired"


class DocumentNotReady(JobError):  # noqa: N818 -- as above
    """The document has not ended."""

    MESSAGE = "the job is {state}; retry when it has ended"
    kind = ErrorKind.NOT_READY
    state: str


class NoResult(JobError):  # noqa: N818 -- as above
    """The job ended without a result."""

    MESSAGE = "no result: {problem}"
    problem: str


class FilesUnavailable(JobError):  # noqa: N818 -- as above
    """The files of jobs cannot be stored or read."""

    MESSAGE = "files cannot be stored or read at the moment; try again later"
    kind = ErrorKind.STORE_UNAVAILABLE
    headers = RETRY_AFTER


class FileRejected(JobError):  # noqa: N818 -- as above
    """A file does not match its name, is damaged, is unsafe or has an unknown format."""

    MESSAGE = "{file_name}: {problem}"
    file_name: str
    problem: str
    """Description of the fault, its position and a remedy."""


class TooManyJobs(JobError):  # noqa: N818 -- as above
    """The caller has the maximum number of unfinished jobs."""

    MESSAGE = "the limit of {limit} unfinished jobs is reached; retry when one has ended"
    kind = ErrorKind.OVERLOADED
    headers = RETRY_AFTER
    limit: int


class JobsFull(JobError):  # noqa: N818 -- as above
    """The file would exceed the byte limit of all jobs together."""

    MESSAGE = "the limit of {limit_bytes} stored bytes is reached; delete jobs, or try again later"
    kind = ErrorKind.NO_ROOM
    headers = RETRY_AFTER
    limit_bytes: int


class TooManyBytes(JobError):  # noqa: N818 -- as above
    """The file would exceed the caller's byte limit."""

    MESSAGE = (
        "your files have {kept_bytes} bytes of the limit of {limit_bytes}, and this file needs {new_bytes} "
        "more with its translation; delete jobs that have ended, or send less"
    )
    kind = ErrorKind.QUOTA_EXCEEDED
    limit_bytes: int
    kept_bytes: int
    new_bytes: int


class JobUnreadable(JobError):  # noqa: N818 -- as above
    """A row of the database is not a job that this version knows."""

    MESSAGE = "job {job_id} cannot be read from the database; another version may have written it"
    job_id: str


class LeaseLost(JobError):  # noqa: N818 -- as above
    """A worker was silent for so long that another one took over its job."""

    MESSAGE = "another worker has taken over job {job_id}"
    job_id: str
