"""Progress and final report of a batch job."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """Counts of entries; repeated entries count each time, except in `num_translated`."""

    num_entries: int
    """Entries of all files."""
    num_done: int
    """Entries with an outcome, from this run or an earlier one."""
    num_failed: int
    """Entries among these that could not be translated."""
    num_translated: int
    """Distinct entries that were translated in this run."""


@dataclass(slots=True)
class BatchReport:
    """Final counts of a job; all but `num_translated` count repeated entries each time."""

    num_entries: int
    num_failed: int = 0
    num_cut: int = 0
    """Translated entries that reached a length limit and may be incomplete."""
    num_translated: int = 0
    """Distinct entries translated in this run; 0 if a resumed run only had to write files."""
    num_flagged: int = 0
    """Translated entries that failed a check, such as a number that changed, and are to be reviewed."""
    failed_characters: int = 0
    """Characters of the entries that could not be translated."""


OnProgress = Callable[[BatchProgress], object]
