"""Partitioning of the entries missing from the journal, each distinct one once, for the cluster."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import Self

from dragoman.types import Pair
from service.batch.errors import JobCancelled
from service.batch.files import JobFile, read_entries
from service.batch.journal import Journal
from service.batch.lookup import look_up
from service.batch.run import by_pair
from service.batch.texts import Untranslated
from service.cluster.partitions import write_partition
from service.formats.entries import Entry


class OccurrenceCounts:
    """Number of occurrences of each planned entry, in a database that moves to a temporary file as it grows.

    A set of keys in memory would grow with the input.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("")  # SQLite's name for a temporary database
        self._database.execute("CREATE TABLE planned (key BLOB PRIMARY KEY, times INTEGER) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add(self, key: bytes) -> bool:
        """Count an entry, and return whether it is new."""
        with closing(self._database.execute("INSERT OR IGNORE INTO planned VALUES (?, 1)", (key,))) as cursor:
            if cursor.rowcount:
                return True
        self._database.execute("UPDATE planned SET times = times + 1 WHERE key = ?", (key,))
        return False

    def of(self, key: bytes) -> int:
        """Return the number of occurrences of an entry; 0 if it was not planned."""
        found = self._database.execute("SELECT times FROM planned WHERE key = ?", (key,)).fetchone()
        return 0 if found is None else int(found[0])


@dataclass(frozen=True, slots=True)
class PartitionPlan:
    """The partitions that a run must translate, and counts of what is done already."""

    partitions: tuple[Path, ...]
    num_done: int
    """Entries that are in the journal; repeated entries count each time."""
    num_failed: int
    """Entries among these that could not be translated."""


class Planner:
    """Writes partitions, with one at a time in memory."""

    def __init__(
        self, journal: Journal, occurrences: OccurrenceCounts, folder: Path, size: int, stop: Event
    ) -> None:
        self._journal = journal
        self._occurrences = occurrences
        self._folder = folder
        self._size = size
        self._stop = stop
        self._partitions: list[Path] = []
        self._num_done = 0
        self._num_failed = 0

    def run(self, files: Sequence[JobFile]) -> PartitionPlan:
        """Read all files and write partitions, each for one pair of languages.

        Raises:
            InputProblem: a file cannot be read.
            OutputFailed: a partition cannot be written.
            JobCancelled: `stop` was set.
            JournalFailed, JournalDamaged: see `Journal.outcomes`.
        """
        for pair, alike in by_pair(files).items():
            pending = self._pending(alike, pair)
            while entries := dict(islice(pending, self._size)):
                self._partitions.append(write_partition(self._folder, len(self._partitions), pair, entries))
        return PartitionPlan(tuple(self._partitions), self._num_done, self._num_failed)

    def _pending(self, files: Sequence[JobFile], pair: Pair) -> Iterator[tuple[bytes, Entry]]:
        entries = (entry for file in files for entry in read_entries(file))
        for window in look_up(self._journal, entries, pair):
            if self._stop.is_set():
                raise JobCancelled
            for key, entry, outcome in window:
                if outcome is not None:
                    self._num_done += 1
                    self._num_failed += isinstance(outcome, Untranslated)
                elif self._occurrences.add(key):
                    yield key, entry
