"""What ends a job before its files are written.

BatchError
├─ BatchRefused         nothing can be done as it was asked for; asked again it would be refused again
│  ├─ OtherJob          the journal is of a job with other input, options or bundles
│  ├─ JournalDamaged    the journal does not hold what was written to it
│  ├─ InputProblem      a file cannot be read as what it is taken for
│  ├─ InputChanged      a file is not what it was when the job began
│  ├─ OutputProblem     files cannot be written where they are to be
│  └─ OutputBusy        another run writes there now
└─ BatchStopped         what was done is kept: the same command with --resume goes on
   ├─ JobCancelled      somebody wanted it to stop
   ├─ ReadingStopped    the process that reads a file was stopped
   ├─ OutputFailed      a file could not be written, as where a disk is full
   └─ JournalFailed     the journal could not be read or written, as where a disk is full
"""

from dataclasses import dataclass

from dragoman.errors import DragomanError


class BatchError(DragomanError):
    """Root of the tree."""


class BatchRejected(BatchError):  # noqa: N818 -- says it without the suffix
    """What was asked for cannot be done; nothing was written."""


class BatchStopped(BatchError):  # noqa: N818 -- says it without the suffix
    """The job ended before its time, and can go on from where it was."""


@dataclass(eq=False)
class OtherJob(BatchRejected):
    """A journal is of a job with other input, options or bundles."""

    differences: tuple[str, ...]
    """Each names what differs, what it was and what it is."""

    def __str__(self) -> str:
        return (
            f"the job that was begun here is another one: {'; '.join(self.differences)}; go on with what it "
            "was begun with, or begin anew with --force"
        )


@dataclass(eq=False)
class JournalDamaged(BatchRejected):
    """A journal does not hold what was written to it."""

    name: str
    """Of the journal."""
    problem: str

    def __str__(self) -> str:
        return f"the journal {self.name} is damaged: {self.problem}; begin anew with --force"


@dataclass(eq=False)
class InputProblem(BatchRejected):
    """Files cannot be read, or not as what they are taken for."""

    problems: tuple[tuple[str, str], ...]
    """Name of each file at fault, and what is wrong with it."""

    def __str__(self) -> str:
        return "; ".join(f"{name}: {problem}" for name, problem in self.problems)


@dataclass(eq=False)
class InputChanged(BatchRejected):
    """A file is not what it was when the job began."""

    name: str

    def __str__(self) -> str:
        return (
            f"{self.name} changed while the job ran, and nothing was written from it; begin anew with --force"
        )


@dataclass(eq=False)
class OutputProblem(BatchRejected):
    """Files cannot be written where they are to be."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.name}: {self.problem}"


@dataclass(eq=False)
class OutputBusy(BatchRejected):
    """Another run writes to the same output."""

    name: str

    def __str__(self) -> str:
        return f"another run is writing to {self.name}; wait until it has ended"


class JobCancelled(BatchStopped):
    """Somebody wanted the job to stop."""

    def __str__(self) -> str:
        return "the job was stopped; what was translated is kept"


@dataclass(eq=False)
class ReadingStopped(BatchStopped):
    """The process that reads a file could not start, or was told to end."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.name} could not be read to its end: {self.problem}"


@dataclass(eq=False)
class JournalFailed(BatchStopped):
    """The journal could not be read or written."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"the journal {self.name}: {self.problem}"


@dataclass(eq=False)
class OutputFailed(BatchStopped):
    """A file could not be written; what stood there before stands there still."""

    name: str
    problem: str

    def __str__(self) -> str:
        return f"{self.name} could not be written: {self.problem}"
