"""The database of accounts, with locks, timeouts and typed errors.

SQLite in one file by default; PostgreSQL by URL, which several machines can share.
"""

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, make_url, select, text
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from service.accounts.errors import DatabaseUrlInvalid, SchemaUnknown, StoreError
from service.accounts.tables import METADATA, SCHEMA, SCHEMA_VERSION

DEFAULT_URL = "sqlite:///dragoman.db"
TIMEOUT_S = 5.0
FORMS = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"
_SCHEMA_LOCK = 0x_D8A6_0AA1
"""Id of the PostgreSQL advisory lock that is held while tables are created; the number is arbitrary."""


@dataclass(frozen=True, slots=True)
class Database:
    """An open database. Safe to use from several threads."""

    name: str
    """File, or URL without the password, for messages."""
    engine: Engine
    timeout_s: float
    _write_lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, url: str, timeout_s: float = TIMEOUT_S) -> "Database":
        """Open a database, and create its tables if it has none.

        Args:
            url: in one of `FORMS`; a file is relative to the current folder.
            timeout_s: maximum seconds to wait for a connection, a lock or a statement.

        Raises:
            DatabaseUrlInvalid: the URL has another form.
            SchemaUnknown: this program does not know the version of the tables.
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
            with database.writing() as connection:
                _check_schema(connection, database.name)
        except StoreError:
            database.close()
            raise
        return database

    def close(self) -> None:
        self.engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads.

        Raises:
            StoreError: the database cannot be read.
        """
        with self._typed_errors(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that is committed when the block ends, or rolled back if it raises.

        Raises:
            StoreError: the change cannot be made.
        """
        if self.engine.dialect.name != "sqlite":
            with self._typed_errors(), self.engine.begin() as connection:
                yield connection
            return
        # SQLite allows one writer, and others poll. Within this process they queue for the lock instead.
        if not self._write_lock.acquire(timeout=self.timeout_s):
            raise StoreError(
                self.name, f"it was locked by other writers for {self.timeout_s:g} s; try again later"
            )
        try:
            with self._typed_errors(), self.engine.connect() as connection:
                connection.execution_options(is_writing=True)
                with connection.begin():
                    yield connection
        finally:
            self._write_lock.release()

    @contextmanager
    def _typed_errors(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, OSError) as error:
            raise StoreError(self.name, _cause(error)) from error


def _parse(url: str) -> URL:
    """Parse a URL. Raises DatabaseUrlInvalid, which never quotes it: a wrong URL may contain a password."""
    try:
        parsed = make_url(url)
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


def _sqlite_engine(path: Path, timeout_s: float) -> Engine:
    try:
        path.touch(mode=0o600)  # SQLite would create a file that everybody can read
    except OSError as error:
        raise StoreError(str(path), f"cannot be created or opened: {error.strerror or error}") from error
    engine = create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": timeout_s, "isolation_level": None},  # only `_begin` sends BEGIN
        pool_timeout=timeout_s,
        hide_parameters=True,
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin)
    return engine


class _Cursor(Protocol):
    def execute(self, statement: str, /) -> object: ...
    def close(self) -> None: ...


class _SqliteConnection(Protocol):
    def cursor(self) -> _Cursor: ...


def _prepare_sqlite(connection: _SqliteConnection, record: object) -> None:
    del record
    cursor = connection.cursor()
    # With WAL, a writer does not block readers; with synchronous FULL, a commit is on disk when it returns.
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _begin(connection: Connection) -> None:
    # If another transaction writes between a transaction's first read and its first write, SQLite rejects
    # that write at once, whatever the timeout.
    is_writing = connection.get_execution_options().get("is_writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")


def _postgresql_engine(url: URL, name: str, timeout_s: float) -> Engine:
    timeout_ms = math.ceil(timeout_s * 1000)
    arguments: Mapping[str, Any] = {
        "connect_timeout": max(2, math.ceil(timeout_s)),  # libpq's minimum is 2
        "tcp_user_timeout": timeout_ms,
        "options": f"-c statement_timeout={timeout_ms}",
    }
    try:
        return create_engine(
            url,
            connect_args=dict(arguments),
            pool_pre_ping=True,
            pool_timeout=timeout_s,
            hide_parameters=True,
        )
    except ModuleNotFoundError as error:
        raise StoreError(name, f"PostgreSQL needs the package psycopg: {error}") from error


def _check_schema(connection: Connection, name: str) -> None:
    """Create the tables if there are none. If several programs start at once, one creates them."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SCHEMA_LOCK})
    if not inspect(connection).has_table(SCHEMA.name):
        METADATA.create_all(
            connection, checkfirst=False
        )  # fail if another program has tables with these names
        connection.execute(insert(SCHEMA).values(version=SCHEMA_VERSION))
        return
    versions = list(connection.execute(select(SCHEMA.c.version)).scalars())
    if versions != [SCHEMA_VERSION]:
        found = ", ".join(str(version) for version in versions) or "none"
        raise SchemaUnknown(
            name,
            f"its tables have version {found}, but this release needs version {SCHEMA_VERSION}; use the "
            "release that created them, or another database",
        )


def _cause(error: SQLAlchemyError | OSError) -> str:
    """Return the first line of the message, without the statement; PostgreSQL's next lines quote the row."""
    driver_error = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    with suppress(IndexError):
        return str(driver_error).strip().splitlines()[0]
    return type(driver_error).__name__
