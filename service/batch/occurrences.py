"""Counts of distinct entries, without memory that grows with their number."""

import sqlite3
from contextlib import closing


class OccurrenceCounts:
    """Number of occurrences of each entry, in a database that moves to a temporary file as it grows."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("")  # SQLite's name for a temporary database
        self._database.execute("CREATE TABLE entries (key BLOB PRIMARY KEY, times INTEGER) WITHOUT ROWID")

    def close(self) -> None:
        self._database.close()

    def add(self, key: bytes) -> bool:
        """Count an entry, and return whether it is new."""
        with closing(self._database.execute("INSERT OR IGNORE INTO entries VALUES (?, 1)", (key,))) as cursor:
            if cursor.rowcount:
                return True
        self._database.execute("UPDATE entries SET times = times + 1 WHERE key = ?", (key,))
        return False

    def of(self, key: bytes) -> int:
        """Return the number of occurrences of an entry; 0 if it was not added."""
        found: tuple[int] | None = self._database.execute(
            "SELECT times FROM entries WHERE key = ?", (key,)
        ).fetchone()
        return 0 if found is None else found[0]
