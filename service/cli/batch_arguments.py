"""Arguments of `dragoman batch`."""

from dataclasses import dataclass

from dragoman.decoding.options import DecodingOptions
from service.batch.job_directory import StartMode
from service.batch.output_files import OnFailure
from service.batch.planning import LanguageOptions


@dataclass(frozen=True, slots=True)
class ClusterArguments:
    """A Ray cluster, and how much of it to use."""

    address: str | None
    """None for a cluster on this machine, which ends with the command."""
    workers: int
    cpus: int
    """CPUs of each worker."""


@dataclass(frozen=True, slots=True)
class BatchArguments:
    """The command's options."""

    inputs: tuple[str, ...]
    output: str
    languages: LanguageOptions
    decoding: DecodingOptions
    on_failure: OnFailure
    start: StartMode
    cluster: ClusterArguments | None = None
    """None to translate in this process."""
