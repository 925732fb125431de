"""The database of accounts, with locks, timeouts and typed errors.

SQLite in one file by default; PostgreSQL by URL, which several machines can share.
"""

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from service.accounts.errors import DatabaseUrlInvalid, SchemaUnknown, StoreError

SCHEMA_VERSION = 1
"""Version of the tables. A change increases it."""


class UtcTime(sa.TypeDecorator[datetime]):
    """A point in time, to the microsecond. SQLite stores no time zone, so the stored value is UTC."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> Any:
        del dialect
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> datetime | None:
        del dialect
        if not isinstance(value, datetime):
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = sa.MetaData()

SCHEMA = sa.Table("schema_version", METADATA, sa.Column("version", sa.Integer, nullable=False))

KEYS = sa.Table(
    "keys",
    METADATA,
    sa.Column("id", sa.String(8), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("secret_sha256", sa.LargeBinary, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False),  # separated by spaces
    sa.Column("characters_per_month", sa.BigInteger),
    sa.Column("requests_per_minute", sa.BigInteger),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("expires_at", UtcTime),
    sa.Column("revoked_at", UtcTime),
)

USAGE = sa.Table(
    "usage",
    METADATA,
    sa.Column("key_id", sa.ForeignKey(KEYS.c.id), primary_key=True),
    sa.Column("month", sa.String(7), primary_key=True),  # such as 2026-11
    sa.Column("characters", sa.BigInteger, sa.CheckConstraint("characters >= 0"), nullable=False),
    sa.Column("requests", sa.BigInteger, nullable=False),
    sa.Column("documents", sa.BigInteger, sa.CheckConstraint("documents >= 0"), nullable=False),
)

GLOSSARIES = sa.Table(
    "glossaries",
    METADATA,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("key_id", sa.ForeignKey(KEYS.c.id), index=True),  # NULL: of callers without a key
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("entries", sa.Text, nullable=False),  # source, tab, target, line feed
    sa.Column("entry_count", sa.Integer, nullable=False),
    sa.Column("created_at", UtcTime, nullable=False),
)


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
    engine: sa.Engine
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
                create_tables(connection, database.name, SCHEMA, SCHEMA_VERSION, _SCHEMA_LOCK)
        except StoreError:
            database.close()
            raise
        return database

    def close(self) -> None:
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
    def writing(self) -> Iterator[sa.Connection]:
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


def _sqlite_engine(path: Path, timeout_s: float) -> sa.Engine:
    try:
        path.touch(mode=0o600)  # SQLite would create a file that everybody can read
    except OSError as error:
        raise StoreError(str(path), f"cannot be created or opened: {error.strerror or error}") from error
    engine = sa.create_engine(
        sa.URL.create("sqlite", database=str(path)),
        connect_args={"timeout": timeout_s, "isolation_level": None},  # only `_begin` sends BEGIN
        pool_timeout=timeout_s,
        hide_parameters=True,
    )
    # With WAL, a writer does not block readers; with synchronous FULL, a commit is on disk when it returns.
    return prepare_sqlite(engine, "journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON")


class _Cursor(Protocol):
    def execute(self, statement: str, /) -> object: ...
    def close(self) -> None: ...


class _SqliteConnection(Protocol):
    def cursor(self) -> _Cursor: ...


def prepare_sqlite(engine: sa.Engine, *pragmas: str) -> sa.Engine:
    """Execute pragmas in each new connection, and send BEGIN, which sqlite3 would send too late."""

    def prepare(connection: _SqliteConnection, record: object) -> None:
        del record
        cursor = connection.cursor()
        for pragma in pragmas:
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    sa.event.listen(engine, "connect", prepare)
    sa.event.listen(engine, "begin", _begin)
    return engine


def _begin(connection: sa.Connection) -> None:
    # If another transaction writes between a transaction's first read and its first write, SQLite rejects
    # that write at once, whatever the timeout.
    is_writing = connection.get_execution_options().get("is_writing", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if is_writing else "BEGIN")


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


def create_tables(connection: sa.Connection, name: str, schema: sa.Table, version: int, lock: int) -> None:
    """Create the tables of a schema if there are none. If several programs start at once, one creates them.

    Args:
        connection: transaction that writes.
        name: name of the database for errors.
        schema: table of the schema's version, whose metadata has all tables.
        version: version that this program knows.
        lock: id of an advisory lock, which PostgreSQL holds to the end of the transaction.

    Raises:
        SchemaUnknown: the tables have another version.
    """
    hold_lock(connection, lock)
    if not sa.inspect(connection).has_table(schema.name):
        # Fail if another program has tables with these names.
        schema.metadata.create_all(connection, checkfirst=False)
        connection.execute(sa.insert(schema).values(version=version))
        return
    versions = list(connection.execute(sa.select(schema.c.version)).scalars())
    if versions != [version]:
        found = ", ".join(map(str, versions)) or "none"
        raise SchemaUnknown(
            name,
            f"its tables have version {found}, but this release needs version {version}; use the "
            "release that created them, or another database",
        )


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
