"""What `dragoman batch` was asked for."""

from dataclasses import dataclass

from dragoman.decoding.options import DecodingOptions
from service.batch.planning import LanguageWishes
from service.batch.workplace import Start
from service.batch.writing import OnFailure


@dataclass(frozen=True, slots=True)
class ClusterWishes:
    """Which cluster of Ray, and how much of it."""

    address: str | None
    """None for one of this machine's own, which ends with the command."""
    workers: int
    cpus: int
    """Of each worker."""


@dataclass(frozen=True, slots=True)
class BatchWishes:
    """The command's options."""

    inputs: tuple[str, ...]
    output: str
    languages: LanguageWishes
    decoding: DecodingOptions
    on_failure: OnFailure
    start: Start
    cluster: ClusterWishes | None = None
    """None to translate in this process."""
