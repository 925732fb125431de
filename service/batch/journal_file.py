"""The journal of a batch command: an SQLite file next to the output."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL, Connection, Engine, create_engine
from sqlalchemy.exc import DatabaseError, OperationalError, SQLAlchemyError
from sqlalchemy.pool import StaticPool

from service.accounts.database import prepare_sqlite
from service.batch.errors import JournalDamaged, JournalFailed
from service.schema.tables import JOURNAL_TABLES, METADATA

BUSY_TIMEOUT_S = 1.0
DAMAGED = ("malformed", "not a database", "corrupt")
"""Words in SQLite's messages about damaged files."""
SIDE_FILE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite creates next to its database."""


@dataclass(frozen=True, slots=True)
class JournalFile:
    """A database of one journal in its own file, with one user."""

    path: Path
    engine: Engine

    @classmethod
    def open(cls, path: Path) -> "JournalFile":
        """Open a journal, or create an empty one.

        Raises:
            JournalDamaged: the file is not a journal.
            JournalFailed: the file cannot be created, read or written.
        """
        try:
            path.touch(mode=0o600)  # it contains texts, which other users must not read
        except OSError as error:
            raise JournalFailed(str(path), f"cannot be created: {error.strerror or error}") from error
        engine = create_engine(
            URL.create("sqlite", database=str(path)),
            # One connection, used by one thread at a time; `prepare_sqlite` sends BEGIN.
            poolclass=StaticPool,
            connect_args={"timeout": BUSY_TIMEOUT_S, "isolation_level": None, "check_same_thread": False},
            hide_parameters=True,
        )
        # A commit is on disk when it returns. EXCLUSIVE avoids shared memory, which network storage lacks.
        prepare_sqlite(engine, "locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = FULL")
        journal = cls(path, engine)
        try:
            with journal.writing() as connection:
                METADATA.create_all(connection, tables=JOURNAL_TABLES)
        except BaseException:
            journal.close()
            raise
        return journal

    @property
    def name(self) -> str:
        return str(self.path)

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a connection for reading. Raises JournalFailed, JournalDamaged."""
        with self._failing_typed(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction. Raises JournalFailed, JournalDamaged."""
        with self._failing_typed(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def _failing_typed(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            problem = str(getattr(error, "orig", None) or error)
            is_damaged = isinstance(error, DatabaseError) and any(word in problem for word in DAMAGED)
            if is_damaged and not isinstance(error, OperationalError):
                raise JournalDamaged(self.name, problem) from error
            raise JournalFailed(self.name, problem) from error
        except UnicodeDecodeError as error:  # SQLite's message quotes the damaged bytes
            raise JournalDamaged(self.name, "it contains text that is not UTF-8") from error


def remove_journal(path: Path) -> None:
    """Remove a journal, and then the files that SQLite created next to it."""
    for file in (path, *(path.with_name(path.name + ending) for ending in SIDE_FILE_SUFFIXES)):
        with suppress(FileNotFoundError):
            file.unlink()
