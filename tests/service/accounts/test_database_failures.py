"""A database that cannot be used says so in time, by its name and the cause, and is whole afterwards."""

import logging
import os
import shutil
import sqlite3
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import Connection, event, insert, select, text

from dragoman.terms import Term
from dragoman.types import Pair
from service.accounts.accounts import Accounts
from service.accounts.database import Database
from service.accounts.errors import DatabaseUrlInvalid, StoreError
from service.accounts.key_store import KeyStore
from service.accounts.usage import Charge, Usage, UsageStore
from service.glossaries.entries import Dictionary
from service.glossaries.store import GlossaryStore
from service.schema.tables import KEYS
from service.schema.upgrade import REVISION
from tests.engine.routing.doubles import until
from tests.postgres import Postgres
from tests.service.accounts.conftest import NOON, new_key

MONTH = "2026-11"
SOON_S = 0.2
PASSWORD = "hunter2"  # noqa: S105 -- of nobody


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "accounts.db"


@pytest.fixture
def database(file: Path) -> Iterator[Database]:
    """In a file, with little patience."""
    with closing(Database.open(f"sqlite:///{file}", timeout_s=SOON_S)) as opened:
        yield opened


@pytest.fixture
def folder() -> Iterator[Path]:
    """One that every user can reach."""
    made = Path(tempfile.mkdtemp(prefix="dragoman-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write what is read-only."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_waiting_for_a_locked_database_times_out(file: Path, database: Database) -> None:
    key_id = new_key(KeyStore(database)).key.id
    charge = Charge(key_id, MONTH, 5, 0)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked") as failed:
            UsageStore(database).charge(charge, None)
        assert str(file) in str(failed.value)
        Database.open(f"sqlite:///{file}", timeout_s=SOON_S).close()  # it only reads
    UsageStore(database).charge(charge, None)
    assert UsageStore(database).get_month(key_id, MONTH) == Usage(MONTH, 5, 1)


def test_a_concurrent_write_waits_no_longer_than_the_timeout(file: Path, database: Database) -> None:
    with database.writing(), pytest.raises(StoreError, match="locked by other writers") as failed:
        new_key(KeyStore(database))
    assert str(file) in str(failed.value)


def test_the_wait_for_another_process_is_what_is_left_of_the_timeout(tmp_path: Path) -> None:
    """Else a request would wait once for each lock and for a connection."""
    with closing(Database.open(f"sqlite:///{tmp_path / 'accounts.db'}")) as database:
        waits_ms: list[int] = []

        def note(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
            if statement == "BEGIN IMMEDIATE":
                waits_ms.append(busy_timeout_ms(connection))

        def write() -> None:
            with database.writing() as connection:
                waits_ms.append(busy_timeout_ms(connection))

        with database.writing():
            waiter = Thread(target=write)
            waiter.start()
            until(lambda: len(database._write_lock._waiting) == 1)
            event.listen(database.engine, "before_cursor_execute", note)
            until(lambda: database._write_lock._waiting[0][0] < time.monotonic() - 0.01)
        waiter.join()

    assert waits_ms[0] < 5000 - 9
    assert waits_ms[1:] == [5000]


def busy_timeout_ms(connection: Connection) -> int:
    driver_connection = connection.connection.driver_connection
    assert isinstance(driver_connection, sqlite3.Connection)
    [found] = driver_connection.execute("PRAGMA busy_timeout").fetchone()
    return int(found)


def test_more_threads_than_pooled_connections_wait_for_the_lock_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'accounts.db'}"
    with closing(Database.open(url, timeout_s=SOON_S)) as database, ExitStack() as readers:
        for _ in range(40):
            readers.enter_context(database.reading())
        new_key(KeyStore(database))


def test_a_transaction_that_reads_before_it_writes_is_serialized(file: Path, database: Database) -> None:
    """By another process, which has a lock of its own."""
    with (
        closing(Database.open(f"sqlite:///{file}", timeout_s=SOON_S)) as second,
        database.writing() as connection,
    ):
        assert connection.execute(select(KEYS)).all() == []
        with pytest.raises(StoreError, match="locked"):
            new_key(KeyStore(second))
        connection.execute(text("UPDATE keys SET name = 'other'"))
    new_key(KeyStore(database))


def test_reads_continue_during_a_write(database: Database) -> None:
    new = new_key(KeyStore(database))
    with database.writing() as connection:
        connection.execute(text("UPDATE keys SET name = 'other'"))
        found = KeyStore(database).find(new.key.id)
        assert found is not None
        assert found.name == new.key.name


def test_a_full_disk_is_reported_and_nothing_is_partially_written(file: Path, database: Database) -> None:
    key_id = new_key(KeyStore(database)).key.id

    def set_full(connection: sqlite3.Connection, *_: object) -> None:
        connection.execute("PRAGMA max_page_count = 1")  # no more than there are

    event.listen(database.engine, "checkout", set_full)
    terms = tuple(Term(str(number), ("x" * 100,)) for number in range(1000))
    with pytest.raises(StoreError, match="full") as failed:
        GlossaryStore(database).add(key_id, "mine", [Dictionary(Pair("de", "en"), terms)], NOON)
    assert str(file) in str(failed.value)
    assert GlossaryStore(database).list(key_id) == []
    UsageStore(database).charge(Charge(key_id, MONTH, 5, 0), None)  # for which there is room
    assert UsageStore(database).get_month(key_id, MONTH) == Usage(MONTH, 5, 1)


def test_a_read_only_file_is_reported(folder: Path) -> None:
    file = folder / "accounts.db"
    Database.open(f"sqlite:///{file}").close()
    file.chmod(0o444)
    folder.chmod(0o555)
    with as_nobody(), pytest.raises(StoreError, match="Permission denied") as failed:
        Database.open(f"sqlite:///{file}")
    assert str(file) in str(failed.value)


@pytest.mark.parametrize(
    "content", [b"garbage " * 1000, b"SQLite format 3\x00" + bytes(range(1, 200)) * 40], ids=["all", "head"]
)
def test_a_file_that_is_not_a_database_is_reported_and_unchanged(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(StoreError) as failed:
        Database.open(f"sqlite:///{file}")
    assert str(file) in str(failed.value)
    assert file.read_bytes() == content


def test_a_database_with_missing_pages_is_reported(file: Path) -> None:
    database = Database.open(f"sqlite:///{file}")
    new_key(KeyStore(database))
    database.close()
    pages = bytearray(file.read_bytes())
    pages[4096:] = bytes(len(pages) - 4096)
    file.write_bytes(pages)
    with pytest.raises(StoreError) as failed:
        Database.open(f"sqlite:///{file}")
    assert str(file) in str(failed.value)


def test_the_database_file_is_readable_by_its_owner_only(file: Path) -> None:
    Database.open(f"sqlite:///{file}").close()
    assert file.stat().st_mode & 0o077 == 0
    file.write_bytes(b"")  # an empty file becomes a database
    Database.open(f"sqlite:///{file}").close()


def test_tables_of_other_programs_are_rejected(url: str) -> None:
    database = Database.open(url)
    with database.writing() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
    database.close()
    with pytest.raises(StoreError, match="already exists"):
        Database.open(url)


def test_a_failed_transaction_is_rolled_back(url: str) -> None:
    database = Database.open(url)

    def write_half() -> None:
        with database.writing() as connection:
            connection.execute(insert(REVISION).values(version_num="other"))
            raise KeyError

    with pytest.raises(KeyError):
        write_half()
    database.close()
    Database.open(url).close()


def test_a_connection_in_use_while_its_database_is_closed_is_closed_when_returned(url: str) -> None:
    database = Database.open(url)
    with database.reading() as connection:
        driver_connection = connection.connection.driver_connection
        assert driver_connection is not None
        database.close()
        driver_connection.cursor().execute("SELECT 1")

    with pytest.raises(Exception, match="closed"):
        driver_connection.cursor()


def test_a_missing_key_cannot_be_charged(url: str) -> None:
    database = Database.open(url)
    with pytest.raises(StoreError):
        UsageStore(database).charge(Charge("00000000", MONTH, 5, 0), None)
    database.close()


@pytest.mark.parametrize(
    "url",
    [
        "hunter2",
        "",
        "sqlite://",
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite://hunter2/file.db",
        "sqlite:///file.db?key=hunter2",
        "sqlite+aiosqlite:///file.db",
        "mysql://user:hunter2@host/name",
        "postgresql+asyncpg://user:hunter2@host/name",
        "postgresql://user:hunter2@host:hunter2/name",
    ],
)
def test_an_invalid_url_is_rejected_without_quoting_it(url: str) -> None:
    with pytest.raises(DatabaseUrlInvalid) as refused:
        Database.open(url)
    assert "database_url" in str(refused.value)
    assert PASSWORD not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_an_unreachable_server_is_reported_without_the_password(
    scheme: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with pytest.raises(StoreError) as failed:
        Database.open(f"{scheme}://user:{PASSWORD}@/name?host={tmp_path}")
    assert str(tmp_path).replace("/", "%2F") in str(failed.value)
    assert "No such file or directory" in str(failed.value)
    assert PASSWORD not in "".join(traceback.format_exception(failed.value)) + caplog.text


@pytest.fixture
def two(postgres: Postgres) -> Iterator[tuple[Database, Database]]:
    """Two programs on a database of PostgreSQL."""
    url = postgres.new_database()
    with closing(Database.open(url)) as one, closing(Database.open(url, timeout_s=SOON_S)) as other:
        yield one, other


def test_waiting_for_a_lock_in_postgresql_times_out(two: tuple[Database, Database]) -> None:
    holder, waiter = two
    with holder.writing() as connection:
        connection.execute(text("LOCK TABLE keys"))
        with pytest.raises(StoreError, match="timeout") as failed:
            new_key(KeyStore(waiter))
        assert "KEY" not in str(failed.value)
    new_key(KeyStore(waiter))


def test_dropped_database_connections_are_replaced(two: tuple[Database, Database]) -> None:
    database, other = two
    KeyStore(database).list()
    with other.writing() as connection:
        others = text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        connection.execute(others)
    assert KeyStore(database).list() == []


def test_where_keys_are_required_the_default_database_is_in_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with closing(Accounts.open(None, requires_key=True)):
        assert (tmp_path / "dragoman.db").is_file()
    with closing(Accounts.open("sqlite:///sub.db", requires_key=False)):
        assert (tmp_path / "sub.db").is_file()
