"""Errors that end a job before its files are written.

BatchError
├─ BatchRejected        the job cannot be done as requested; a retry would be rejected as well
│  ├─ OtherJob          the journal belongs to a job with other input, options or bundles
│  ├─ JournalDamaged    the journal does not contain what was written to it
│  ├─ InputProblem      a file cannot be read in its format
│  ├─ InputChanged      a file changed after the job began
│  ├─ OutputProblem     files cannot be written to the output
│  └─ OutputBusy        another run is writing to the same output
└─ BatchStopped         finished work is kept: the same command with --resume continues
   ├─ JobCancelled      the job was cancelled
   ├─ ReadingStopped    the process that reads a file was stopped
   ├─ OutputFailed      a file could not be written, for example because the disk is full
   └─ JournalFailed     the journal could not be read or written, for example because the disk is full
"""

from dataclasses import dataclass

from dragoman.errors import DragomanError


class BatchError(DragomanError):
    """Base class of these errors."""


class BatchRejected(BatchError):  # noqa: N818 -- clear without the suffix
    """The job cannot be done as requested; nothing was written."""


class BatchStopped(BatchError):  # noqa: N818 -- clear without the suffix
    """The job stopped early, and can be resumed from there."""


@dataclass(eq=False)
class OtherJob(BatchRejected):
    """A journal belongs to a job with other input, options or bundles."""

    differences: tuple[str, ...]
    """Each names a fact that differs, with its old and its new value."""

    def __str__(self) -> str:
        return (
            f"the journal belongs to another job: {'; '.join(self.differences)}; resume with the original "
            "input and options, or start over with --force"
        )


@dataclass(eq=False)
class JournalDamaged(BatchRejected):
    """A journal does not contain what was written to it."""

    name: str
    """Name of the journal."""
    problem: str

    def __str__(self) -> str:
        return f"the journal {self.name} is damaged: {self.problem}; start over with --force"


@dataclass(eq=False)
class InputProblem(BatchRejected):
    """Files cannot be read, or do not have the expected format."""

    problems: tuple[tuple[str, str], ...]
    """Name of each such file, and what is wrong with it."""

    def __str__(self) -> str:
        return "; ".join(f"{name}: {problem}" for name, problem in self.problems)


@dataclass(eq=False)
class InputChanged(BatchRejected):
    """A file changed after the job began."""

    name: str

    def __str__(self) -> str:
        return (
            f"{self.name} changed while the job ran, and nothing was written from it; start over with --force"
        )


@dataclass(eq=False)
class OutputProblem(BatchRejected):
    """Files cannot be written to the output."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.name}: {self.problem}"


@dataclass(eq=False)
class OutputBusy(BatchRejected):
    """Another run is writing to the same output."""

    name: str

    def __str__(self) -> str:
        return f"another run is writing to {self.name}; wait until it has ended"


class JobCancelled(BatchStopped):
    """The job was cancelled."""

    def __str__(self) -> str:
        return "the job was stopped; finished translations are kept"


@dataclass(eq=False)
class ReadingStopped(BatchStopped):
    """The process that reads a file could not start, or was stopped by a signal."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.name} could not be read completely: {self.problem}"


@dataclass(eq=False)
class JournalFailed(BatchStopped):
    """The journal could not be read or written."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"the journal {self.name}: {self.problem}"


@dataclass(eq=False)
class OutputFailed(BatchStopped):
    """A file could not be written; a former file of the same name is unchanged."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.name} could not be written: {self.problem}"
