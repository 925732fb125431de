"""How far a job is."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Counts entries as often as they occur in the files, but for `num_translated`."""

    num_entries: int
    """Of all files."""
    num_done: int
    """With an outcome, of this run or of one before."""
    num_failed: int
    """Of these, those that could not be translated."""
    num_translated: int
    """Distinct entries that were translated in this run."""


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What became of a job."""

    num_entries: int
    num_failed: int
    num_cut: int
    """Translated, but a length limit was reached: something may be missing."""
    num_translated: int
    """Distinct entries that were translated in this run; none where a resumed one had only files to write."""


OnProgress = Callable[[BatchProgress], object]


def ignore_progress(progress: BatchProgress) -> None:
    """For callers that do not follow a job."""
    del progress
