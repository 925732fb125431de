"""What `dragoman batch` was asked for."""

from dataclasses import dataclass

from dragoman.decoding.options import DecodingOptions
from service.batch.job_directory import StartMode
from service.batch.output_files import OnFailure
from service.batch.planning import LanguageWishes


@dataclass(frozen=True, slots=True)
class ClusterArguments:
    """Which cluster of Ray, and how much of it."""

    address: str | None
    """None for one of this machine's own, which ends with the command."""
    workers: int
    cpus: int
    """Of each worker."""


@dataclass(frozen=True, slots=True)
class BatchArguments:
    """The command's options."""

    inputs: tuple[str, ...]
    output: str
    languages: LanguageWishes
    decoding: DecodingOptions
    on_failure: OnFailure
    start: StartMode
    cluster: ClusterArguments | None = None
    """None to translate in this process."""
