"""Errors that end a job before its files are written; `service/errors.py` has the tree of all errors."""

from dragoman.errors import DragomanError
from service.errors import ServiceError


class BatchError(ServiceError, DragomanError):
    """Base class of these errors."""


class BatchRejected(BatchError):  # noqa: N818 -- clear without the suffix
    """The job cannot be done as requested; nothing was written."""


class BatchStopped(BatchError):  # noqa: N818 -- clear without the suffix
    """The job stopped early, and can be resumed from there."""


class _Differences(BatchError):  # noqa: N818 -- as above
    differences: tuple[str, ...]
    """Each names a fact that differs, with its old and its new value."""

    def __str__(self) -> str:
        return self.MESSAGE.format("; ".join(self.differences))


class _Named(BatchError):  # noqa: N818 -- as above
    name: str
    """Name of the file or the journal."""


class _NamedProblem(BatchError):  # noqa: N818 -- as above
    name: str
    """Name of the file or the journal."""
    problem: str


class OtherJob(_Differences, BatchRejected):
    """A journal belongs to a job with other input, options or bundles."""

    MESSAGE = (
        "the journal belongs to another job: {}; resume with the original input and options, or start over "
        "with --force"
    )


class JournalDamaged(_NamedProblem, BatchRejected):
    """A journal does not contain what was written to it."""

    MESSAGE = "the journal {name} is damaged: {problem}; start over with --force"


class InputProblem(BatchRejected):
    """Files cannot be read, or do not have the expected format."""

    problems: tuple[tuple[str, str], ...]
    """Name of each such file, and what is wrong with it."""

    def __str__(self) -> str:
        return "; ".join(f"{name}: {problem}" for name, problem in self.problems)


class InputChanged(_Named, BatchRejected):
    """A file changed after the job began."""

    MESSAGE = "{name} changed while the job ran, and nothing was written from it; start over with --force"


class OutputProblem(_NamedProblem, BatchRejected):
    """Files cannot be written to the output."""

    MESSAGE = "{name}: {problem}"


class OutputBusy(_Named, BatchRejected):
    """Another run is writing to the same output."""

    MESSAGE = "another run is writing to {name}; wait until it has ended"


class ClusterMissing(BatchRejected):
    """Ray, or a library that it needs, is not installed."""

    MESSAGE = "a cluster needs Ray, which cannot be used ({problem}); install dragoman[ray]"
    problem: str


class EngineDiffers(_Differences, BatchRejected):
    """A node of the cluster has other bundles or versions than the driver."""

    MESSAGE = "a node of the cluster has a different engine: {}; install the same one on all nodes"


class JobCancelled(BatchStopped):
    """The job was cancelled."""

    MESSAGE = "the job was stopped; finished translations are kept"


class ReadingStopped(_NamedProblem, BatchStopped):
    """The process that reads a file could not start, or was stopped by a signal."""

    MESSAGE = "{name} could not be read completely: {problem}"


class JournalFailed(_NamedProblem, BatchStopped):
    """The journal could not be read or written."""

    MESSAGE = "the journal {name}: {problem}"


class OutputFailed(_NamedProblem, BatchStopped):
    """A file could not be written; a former file of the same name is unchanged."""

    MESSAGE = "{name} could not be written: {problem}"


class ClusterFailed(BatchStopped):
    """The cluster could not be reached, or work on it failed."""

    MESSAGE = "the cluster failed: {problem}; finished translations are kept"
    problem: str


class PartitionDamaged(_Named, BatchStopped):
    """A partition's file is not the same as what was written."""

    MESSAGE = "{name} is damaged; the other translations are kept"
