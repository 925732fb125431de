"""The database of accounts, with locks, timeouts and typed errors.

SQLite in one file by default; PostgreSQL by URL, which several machines can share.
"""

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from service.accounts.errors import DatabaseUrlInvalid, SchemaUnknown, StoreError
from service.accounts.write_lock import WriteKind, WriteLock
from service.schema.errors import SchemaError
from service.schema.tables import HEAD
from service.schema.upgrade import read_revision, upgrade_schema

DEFAULT_URL = "sqlite:///dragoman.db"
TIMEOUT_S = 5.0
FORMS = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
MAX_ROWS = 500
"""Maximum rows that a statement may read or change while other writers wait."""
MAX_WRITTEN_BYTES = 2**20
"""Maximum bytes of the rows of a transaction that writes a part of many rows."""
MAX_SQLITE_VARIABLES = 999
"""Maximum number of variables in a statement before SQLite 3.32."""
_SCHEMA_LOCK = 0x_D8A6_0AA1
"""Id of the PostgreSQL advisory lock that is held during an upgrade; the number is arbitrary."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Database:
    """An open database. Safe to use from several threads."""

    name: str
    """File, or URL without the password, for messages."""
    engine: sa.Engine
    timeout_s: float
    _write_lock: WriteLock = field(default_factory=WriteLock)

    @classmethod
    def open(cls, url: str, timeout_s: float = TIMEOUT_S) -> "Database":
        """Open a database; create its tables, or upgrade them if an older release created them.

        If several programs open a database at once, one creates or upgrades the tables, and the others wait.

        Args:
            url: in one of `FORMS`; a file is relative to the current folder.
            timeout_s: maximum seconds to wait for a connection, a lock or a statement.

        Raises:
            DatabaseUrlInvalid: the URL has another form.
            SchemaUnknown: this release cannot upgrade the tables.
            StoreError: the database cannot be opened, read or written.
        """
        parsed = _parse(url)
        if parsed.get_backend_name() == "sqlite":
            path = Path(parsed.database or "").absolute()
            database = cls(str(path), _sqlite_engine(path, timeout_s), timeout_s)
        else:
            name = parsed.render_as_string(hide_password=True)
            database = cls(name, _postgresql_engine(parsed, name, timeout_s), timeout_s)
        try:
            database._upgrade()
        except StoreError:
            database.close()
            raise
        return database

    def close(self) -> None:
        """Close idle connections now, and each that a thread still uses when the thread returns it."""
        sa.event.listen(self.engine, "checkin", _close_returned)
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Open a transaction that only reads.

        Raises:
            StoreError: the database cannot be read.
        """
        with self._typed_errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self, kind: WriteKind = WriteKind.OTHER) -> Iterator[sa.Connection]:
        """Open a transaction that is committed when the block ends, or rolled back if it raises.

        All others wait for it: no statement may read or change more than `MAX_ROWS` rows, and nothing in the
        block may take longer the more is stored or sent.

        Args:
            kind: charges go first.

        Raises:
            StoreError: the change cannot be made.
        """
        if self.engine.dialect.name != "sqlite":
            with self._typed_errors(), self.engine.begin() as connection:
                yield connection
            return
        # SQLite allows one writer, and others poll. Within this process they queue for the lock instead.
        until_s = time.monotonic() + self.timeout_s
        if not self._write_lock.acquire(kind, self.timeout_s):
            raise StoreError(
                self.name, f"it was locked by other writers for {self.timeout_s:g} s; try again later"
            )
        try:
            with self._typed_errors(), self.engine.connect() as connection:
                # Both waits together, for this process and for others, take no longer than the timeout.
                waits_s = until_s - time.monotonic(), self.timeout_s
                busy_ms = [math.ceil(1000 * max(0, wait_s)) for wait_s in waits_s]
                connection.execution_options(is_writing=True, busy_ms=busy_ms)
                with connection.begin():
                    yield connection
        finally:
            self._write_lock.release()

    def _upgrade(self) -> None:
        """Bring the tables to the schema of this release. Raises StoreError."""
        with self.reading() as connection:
            if read_revision(connection) == HEAD:
                return
        logger.info("database %s: creating or upgrading its tables to revision %s", self.name, HEAD)
        with self._upgrading() as connection:
            try:
                upgrade_schema(connection)
            except SchemaError as error:
                raise SchemaUnknown(self.name, str(error)) from error

    @contextmanager
    def _upgrading(self) -> Iterator[sa.Connection]:
        """Open a transaction on a new connection, which locks out upgrades by other programs."""
        with self._typed_errors(), self.engine.connect() as connection:
            connection.detach()
            if connection.dialect.name == "sqlite":
                # To change a table, Alembic replaces it; other tables' references to it must not forbid this.
                _run_pragmas(connection.connection, "foreign_keys = OFF")
            connection.execution_options(is_writing=True)
            with connection.begin():
                if connection.dialect.name == "postgresql":
                    connection.execute(sa.text("SET LOCAL statement_timeout = 0"))
                hold_lock(connection, _SCHEMA_LOCK)
                yield connection

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            raise StoreError(self.name, _cause(error)) from error


def _close_returned(_connection: object, entry: sa.pool.ConnectionPoolEntry) -> None:
    entry.close()


def _parse(url: str) -> sa.URL:
    """Parse a URL. Raises DatabaseUrlInvalid, which never quotes it: a wrong URL may contain a password."""
    try:
        parsed = sa.make_url(url)
        backend = parsed.get_backend_name()
    except (SQLAlchemyError, ValueError):
        raise DatabaseUrlInvalid("database_url", f"cannot be read as a URL; it must be {FORMS}") from None
    if backend == "sqlite":
        if parsed.drivername != "sqlite" or parsed.host or parsed.query:
            raise DatabaseUrlInvalid(
                "database_url", "must be sqlite:///FILE, without a host, driver or options"
            )
        if not parsed.database or parsed.database == ":memory:":
            raise DatabaseUrlInvalid("database_url", "must name a file; an in-memory database loses all data")
        return parsed
    if parsed.drivername in {"postgresql", "postgres", "postgresql+psycopg"}:
        return parsed.set(drivername="postgresql+psycopg")
    raise DatabaseUrlInvalid("database_url", f"this kind of database is not supported; it must be {FORMS}")


def check_exists(url: str) -> None:
    """Raise a StoreError if the file of a SQLite database does not exist; opening it would create it."""
    parsed = _parse(url)
    path = Path(parsed.database or "").absolute()
    if parsed.get_backend_name() == "sqlite" and not path.exists():
        raise StoreError(str(path), "it does not exist; `dragoman keys create NAME` creates it")


def _sqlite_engine(path: Path, timeout_s: float) -> sa.Engine:
    try:
        path.touch(mode=0o600)  # SQLite would create a file that everybody can read
    except OSError as error:
        raise StoreError(str(path), f"cannot be created or opened: {error.strerror or error}") from error
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        connect_args={"timeout": timeout_s, "isolation_level": None},  # only `_begin` sends BEGIN
        max_overflow=-1,  # callers' threads are limited, and waited for a connection besides the lock
        hide_parameters=True,
    )
    # With WAL, a writer does not block readers; with synchronous FULL, a commit is on disk when it returns.
    return prepare_sqlite(engine, "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON")


def prepare_sqlite(engine: sa.Engine, *pragmas: str) -> sa.Engine:
    """Execute pragmas in each new connection, and send BEGIN, which sqlite3 would send too late."""

    def prepare(connection: DBAPIConnection, record: object) -> None:
        del record
        _run_pragmas(connection, *pragmas)

    sa.event.listen(engine, "connect", prepare)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _run_pragmas(connection: DBAPIConnection, *pragmas: str) -> None:
    cursor = connection.cursor()
    for pragma in pragmas:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: sa.Connection) -> None:
    # If another transaction writes between a transaction's first read and its first write, SQLite rejects
    # that write at once, whatever the timeout.
    options = connection.get_execution_options()
    wait_ms, timeout_ms = options.get("busy_ms", (None, None))
    if wait_ms is not None:
        _run_pragmas(connection.connection, f"busy_timeout = {wait_ms}")
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get("is_writing", False) else "BEGIN")
    finally:
        if timeout_ms is not None:
            _run_pragmas(connection.connection, f"busy_timeout = {timeout_ms}")


def _postgresql_engine(url: sa.URL, name: str, timeout_s: float) -> sa.Engine:
    timeout_ms = math.ceil(timeout_s * 1000)
    arguments: Mapping[str, Any] = {
        "connect_timeout": max(2, math.ceil(timeout_s)),  # libpq's minimum is 2
        "tcp_user_timeout": timeout_ms,
        "options": f"-c statement_timeout={timeout_ms}",
    }
    try:
        return sa.create_engine(
            url,
            connect_args=dict(arguments),
            pool_pre_ping=True,
            pool_timeout=timeout_s,
            hide_parameters=True,
        )
    except ModuleNotFoundError as error:
        raise StoreError(name, f"PostgreSQL needs the package psycopg: {error}") from error


def insert_rows(connection: sa.Connection, insert: sa.Insert, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, each with all columns, and with values that the driver takes as they are.

    For each row of a list, SQLite's driver lets other threads run, and then waits for the interpreter, while
    all other writers wait for the transaction: 2,000 rows took 2 s beside two busy threads, instead of 30 ms.
    Hence statements of many rows.
    """
    compiled = insert.compile(dialect=connection.dialect)
    names = compiled.positiontup
    if names is None:
        if rows:
            connection.exec_driver_sql(str(compiled), list(rows))
        return
    one = f"({', '.join('?' * len(names))})"
    size = MAX_SQLITE_VARIABLES // len(names)
    for some in (rows[start : start + size] for start in range(0, len(rows), size)):
        statement = str(compiled).replace(one, ", ".join([one] * len(some)), 1)
        connection.exec_driver_sql(statement, tuple(row[name] for row in some for name in names))


def hold_lock(connection: sa.Connection, lock: int) -> None:
    """Wait until no other transaction holds a lock, and hold it to the end. SQLite needs no lock."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": lock})


def _cause(error: SQLAlchemyError | OSError) -> str:
    """Return the first line of the message, without the statement; PostgreSQL's next lines quote the row."""
    driver_error = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    with suppress(IndexError):
        return str(driver_error).strip().splitlines()[0]
    return type(driver_error).__name__
