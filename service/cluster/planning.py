"""What the journal lacks, each distinct entry once, in partitions for the cluster."""

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


class Occurrences:
    """How often each planned entry occurs, in a database that goes to a temporary file when it grows.

    A set of all keys would grow with the input.
    """

    def __init__(self) -> None:
        self._database = sqlite3.connect("")  # SQLite's name for a database that is gone when it is closed
        self._database.execute("CREATE TABLE planned (key BLOB PRIMARY KEY, times INTEGER) WITHOUT ROWID")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._database.close()

    def add(self, key: bytes) -> bool:
        """Count an entry; gives whether it is a new one."""
        with closing(self._database.execute("INSERT OR IGNORE INTO planned VALUES (?, 1)", (key,))) as cursor:
            if cursor.rowcount:
                return True
        self._database.execute("UPDATE planned SET times = times + 1 WHERE key = ?", (key,))
        return False

    def of(self, key: bytes) -> int:
        """How often an entry occurs; 0 where it was not planned."""
        found = self._database.execute("SELECT times FROM planned WHERE key = ?", (key,)).fetchone()
        return 0 if found is None else int(found[0])


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run has to do."""

    partitions: tuple[Path, ...]
    num_done: int
    """Entries, as often as they occur, that the journal has."""
    num_failed: int
    """Of these."""


class Planner:
    """Writes partitions, one of which is in memory at a time."""

    def __init__(
        self, journal: Journal, occurrences: Occurrences, folder: Path, size: int, stop: Event
    ) -> None:
        self._journal = journal
        self._occurrences = occurrences
        self._folder = folder
        self._size = size
        self._stop = stop
        self._partitions: list[Path] = []
        self._num_done = 0
        self._num_failed = 0

    def run(self, files: Sequence[JobFile]) -> Plan:
        """Read all files and write partitions of one pair of languages each.

        Raises:
            InputProblem: a file cannot be read.
            OutputFailed: a partition cannot be written.
            JobCancelled: the job is to stop.
            JournalFailed, JournalDamaged: see `Journal.outcomes`.
        """
        for pair, alike in by_pair(files).items():
            pending = self._pending(alike, pair)
            while entries := dict(islice(pending, self._size)):
                self._partitions.append(write_partition(self._folder, len(self._partitions), pair, entries))
        return Plan(tuple(self._partitions), self._num_done, self._num_failed)

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
