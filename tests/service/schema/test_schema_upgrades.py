"""Databases of older releases are upgraded with their rows, once, or rejected unchanged."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from service.accounts import database as database_module
from service.accounts.accounts import Accounts
from service.accounts.database import _SCHEMA_LOCK, Database, hold_lock
from service.accounts.errors import SchemaUnknown
from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyOptions
from service.jobs.job import JobRequest, JobState, NewJob
from service.jobs.store import JobStore
from service.schema import upgrade
from service.schema.tables import HEAD, METADATA, TOTALS, USAGE
from service.schema.upgrade import MIGRATIONS, REVISION
from tests.engine.routing.doubles import until

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
JOB_ID = "01a20320a20003afbba7ddd1bd1b7ed3"
NEXT = f"{int(HEAD) + 1:04}"
NEXT_MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"


def upgrade():
    recreate = "always" if op.get_bind().dialect.name == "sqlite" else "never"
    with op.batch_alter_table("keys", recreate=recreate) as keys:
        keys.add_column(sa.Column("notes", sa.Text))
"""


@pytest.fixture
def next_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the migrations of a release after this one, which replaces a table, in place of this one's."""
    migrations = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, migrations)
    (migrations / "versions" / f"schema_{NEXT}.py").write_text(NEXT_MIGRATION)
    monkeypatch.setattr(upgrade, "MIGRATIONS", migrations)
    for module in (upgrade, database_module):
        monkeypatch.setattr(module, "HEAD", NEXT)


def kind_of(url: str) -> str:
    return url.partition(":")[0]


def execute(url: str, statements: str) -> None:
    if kind_of(url) == "sqlite":
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(statements)
    else:
        with psycopg.connect(url) as other:
            other.execute(statements.encode())


@contextmanager
def reading(url: str) -> Iterator[sa.Connection]:
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def columns_of_keys(url: str) -> set[str]:
    with reading(url) as connection:
        return {column["name"] for column in sa.inspect(connection).get_columns("keys")}


def revisions(url: str) -> list[str]:
    with reading(url) as connection:
        return list(connection.execute(sa.select(REVISION.c.version_num)).scalars())


@pytest.fixture
def old_url(any_url: str) -> str:
    """Of a database that this release created."""
    Database.open(any_url).close()
    return any_url


@pytest.fixture
def first_url(any_url: str) -> str:
    """Of a database that the first release created."""
    statements = (Path(__file__).parent / "schema-0001.sql").read_text("utf-8")
    if kind_of(any_url) == "postgresql":
        statements = statements.replace("BLOB", "BYTEA").replace("DATETIME", "TIMESTAMP WITH TIME ZONE")
    execute(any_url, statements)
    execute(any_url, "INSERT INTO keys VALUES ('a', '', '', '', NULL, NULL, CURRENT_TIMESTAMP, NULL, NULL)")
    return any_url


def add_first_jobs(url: str, request: str, *sizes: tuple[int, int | None, int | None]) -> None:
    """Add jobs of the key `a` as the first release did, with these sizes of input, result and errors."""
    values: dict[str, object] = {
        "key_id": "a",
        "state": "done",
        "request": request,
        "charged_month": "",
        "created_at": NOON.isoformat(" "),
        "is_cancelling": False,
        **dict.fromkeys(("num_characters", "num_entries", "num_done", "num_failed", "num_flagged"), 0),
        **dict.fromkeys(("num_setbacks", "webhook_tries"), 0),
    }
    names = ("input_size_bytes", "result_size_bytes", "errors_size_bytes")
    rows = [{**values, **dict(zip(names, each, strict=True)), "id": str(n)} for n, each in enumerate(sizes)]
    with reading(url) as connection, connection.begin():
        connection.execute(sa.insert(sa.table("jobs", *map(sa.column, rows[0]))), rows)


@pytest.mark.parametrize("has_next", [False, True], ids=["same release", "next release"])
def test_every_row_is_kept(old_url: str, request: pytest.FixtureRequest, *, has_next: bool) -> None:
    with closing(Database.open(old_url)) as database:
        key = KeyStore(database).create(KeyOptions("mine"), NOON)
        JobStore(database).add(NewJob(JOB_ID, None, JobRequest("a.txt", "de", "en"), 1, 1, 1))
    with closing(Accounts.open(old_url, requires_key=True)) as accounts:
        accounts.charge(accounts.identify(key.presented), 42)
    if has_next:
        request.getfixturevalue("next_release")

    with closing(Accounts.open(old_url, requires_key=True)) as accounts:
        caller = accounts.identify(key.presented)
        stored = accounts.database
        assert stored is not None
        assert caller.key_id == key.key.id
        assert JobStore(stored).get(None, JOB_ID).job_request == JobRequest("a.txt", "de", "en")
        with stored.reading() as connection:
            assert connection.execute(sa.select(USAGE.c.characters)).scalars().all() == [42]
            if kind_of(old_url) == "sqlite":
                assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
                assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []
    assert ("notes" in columns_of_keys(old_url)) is has_next
    assert revisions(old_url) == [NEXT if has_next else HEAD]


def test_tables_and_migrations_agree(first_url: str) -> None:
    """Databases of the first release, once migrated, equal new ones."""
    with closing(Database.open(first_url)) as database, database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_a_job_of_the_first_release_is_read_without_its_webhook(first_url: str) -> None:
    url = "https://example.com/"
    request = {"file_name": "a.txt", "source": "de", "target": "en", "webhook_url": url}
    add_first_jobs(first_url, json.dumps(request), (1, None, None))

    with closing(Database.open(first_url)) as database:
        job = JobStore(database).get("a", "0")

    assert job.job_request == JobRequest("a.txt", "de", "en")
    assert (job.state, job.created_at, job.input_size_bytes) == (JobState.DONE, NOON, 1)


def test_an_upgrade_counts_what_is_stored(first_url: str) -> None:
    add_first_jobs(first_url, "", (1, None, None), (0, 10, 5))
    execute(
        first_url,
        "INSERT INTO memories VALUES ('m', NULL, '', 'de', 'en', 2, 30, 1, CURRENT_TIMESTAMP);"
        "INSERT INTO glossaries"
        " VALUES ('g', 'a', '', CURRENT_TIMESTAMP, 1), ('h', 'a', '', CURRENT_TIMESTAMP, 1);"
        "INSERT INTO glossary_dictionaries"
        " VALUES ('g', 'de', 'en', 0, '', 1, 7), ('g', 'en', 'de', 1, '', 1, 8)",
    )

    with closing(Database.open(first_url)) as database, database.reading() as connection:
        totals = {
            (row.resource, row.owner): (row.num_items, row.size_bytes)
            for row in connection.execute(sa.select(TOTALS))
        }

    assert totals == {
        ("jobs", "a"): (2, 17),
        ("all jobs", ""): (2, 17),
        ("memories", ""): (1, 30),
        ("glossaries", "a"): (2, 15),
    }


@pytest.mark.usefixtures("next_release")
def test_tables_of_other_programs_do_not_prevent_an_upgrade(any_url: str) -> None:
    execute(any_url, "CREATE TABLE others (id INTEGER)")

    Database.open(any_url).close()

    with reading(any_url) as connection:
        assert sa.inspect(connection).has_table("others")


def test_a_database_of_a_newer_release_is_rejected(old_url: str) -> None:
    execute(old_url, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(SchemaUnknown, match="revision 9999, which this release does not know"):
        Database.open(old_url)


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
def test_of_several_programs_that_start_at_once_one_upgrades(
    any_url: str, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest, *, is_old: bool
) -> None:
    url = any_url
    if is_old:
        Database.open(url).close()
        request.getfixturevalue("next_release")
    caplog.clear()
    caplog.set_level("INFO")
    engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with ThreadPoolExecutor(3) as programs, engine.connect() as holder:
        if kind_of(url) == "sqlite":
            holder.exec_driver_sql("PRAGMA journal_mode = WAL")
            holder.exec_driver_sql("BEGIN IMMEDIATE")
        hold_lock(holder, _SCHEMA_LOCK)
        opening = [programs.submit(Database.open, url) for _ in range(3)]
        until(lambda: caplog.text.count("upgrading") == 3)
        holder.rollback()
        for opened in opening:
            opened.result().close()
    engine.dispose()

    assert revisions(url) == [NEXT if is_old else HEAD]


def test_an_upgrade_may_take_longer_than_a_statement_of_a_request(any_url: str) -> None:
    with closing(Database.open(any_url)) as database, database._upgrading() as connection:
        if kind_of(any_url) == "postgresql":
            assert connection.execute(sa.text("SHOW statement_timeout")).scalar_one() == "0"


def test_head_is_the_only_latest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))

    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]
