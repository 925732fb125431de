"""Databases of older releases are upgraded with their rows, once, or rejected unchanged."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.operations import Operations
from alembic.script import ScriptDirectory

from dragoman.terms import Term
from dragoman.types import Pair
from service.accounts.accounts import Accounts
from service.accounts.database import _SCHEMA_LOCK, Database, hold_lock
from service.accounts.errors import SchemaUnknown
from service.accounts.usage import Usage, UsageStore
from service.glossaries.entries import Dictionary
from service.glossaries.store import GlossaryStore
from service.jobs.store import JobStore
from service.schema.tables import HEAD, METADATA
from service.schema.upgrade import MIGRATIONS, REVISION
from tests.routing.doubles import until

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
KEY_ID = "d196b85f"
PRESENTED = f"drg_{KEY_ID}_nBb5lJN98i-XznQmJXCHBcm5rGefD7a_uuZrkZGNTew"
GLOSSARY_ID = "4619abf1-a641-46ba-940f-692afd607933"
JOB_ID = "01a20320a20003afbba7ddd1bd1b7ed3"
TABLES_OF_JOBS = ("jobs", "translations", "job_facts", "jobs_schema_version")


@pytest.fixture
def old_url(any_url: str) -> str:
    """Of a database that the last release without Alembic filled."""
    fill(any_url)
    return any_url


def fill(url: str) -> None:
    execute(url, (Path(__file__).parent / f"before-alembic.{kind_of(url)}.sql").read_text("utf-8"))


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


def schema_of(url: str) -> dict[str, Any]:
    """All that a database knows of each of its tables, with names that the database chose left out."""
    with reading(url) as connection:
        inspector = sa.inspect(connection)
        return {
            table: {
                "columns": [
                    {**column, "type": str(column["type"])} for column in inspector.get_columns(table)
                ],
                "primary key": inspector.get_pk_constraint(table)["constrained_columns"],
                "references": [
                    {**key, "name": None, "options": {}} for key in inspector.get_foreign_keys(table)
                ],
                "indexes": inspector.get_indexes(table),
                "checks": sorted(check["sqltext"] for check in inspector.get_check_constraints(table)),
                "unique": inspector.get_unique_constraints(table),
            }
            for table in inspector.get_table_names()
        }


def test_every_row_is_kept(old_url: str) -> None:
    with Accounts.open(old_url, requires_key=True) as accounts:
        assert accounts.identify(PRESENTED).key_id == KEY_ID
        database = accounts.database
        assert database is not None
        assert UsageStore(database).get_month(KEY_ID, "2026-11") == Usage("2026-11", 42, 2, 1)
        glossaries = GlossaryStore(database)
        glossary = glossaries.get(KEY_ID, GLOSSARY_ID)
        assert (glossary.name, glossary.version, glossary.created_at) == ("mine", 1, NOON)
        assert glossaries.read_dictionaries(KEY_ID, GLOSSARY_ID) == (
            Dictionary(Pair("de", "en"), (Term("Haus", ("house",)),)),
        )
        assert JobStore(database).get(KEY_ID, JOB_ID).created_at == NOON
    # Journals of before have other keys and rows: a job that was under way translates its texts again.
    with reading(old_url) as connection:
        assert connection.execute(sa.text("SELECT text FROM translations")).scalars().all() == [
            b"Good morning"
        ]


def test_an_upgraded_database_equals_a_new_one(old_url: str, tmp_path: Path, request: Any) -> None:
    if kind_of(old_url) == "sqlite":
        new_url = f"sqlite:///{tmp_path / 'new.db'}"
    else:
        new_url = request.getfixturevalue("postgres").new_database()

    for url in (old_url, new_url):
        Database.open(url).close()

    assert schema_of(old_url) == schema_of(new_url)
    assert set(schema_of(new_url)) == {*METADATA.tables, REVISION.name}


def test_tables_and_migrations_agree(any_url: str) -> None:
    Database.open(any_url).close()
    execute(any_url, "DROP TABLE alembic_version")
    execute(any_url, ";".join(f"DROP TABLE {table.name}" for table in reversed(METADATA.sorted_tables)))
    execute(any_url, "CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")  # before the first

    Database.open(any_url).close()

    with reading(any_url) as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []


def test_a_database_that_never_had_jobs_gets_their_tables(old_url: str) -> None:
    execute(old_url, ";".join(f"DROP TABLE {table}" for table in TABLES_OF_JOBS))

    with closing(Database.open(old_url)) as database:
        assert JobStore(database).page(None, 10) == []
        assert UsageStore(database).get_month(KEY_ID, "2026-11").characters == 42


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("ALTER TABLE keys ADD COLUMN notes TEXT", "remove_column keys notes"),
        ("DROP INDEX jobs_by_key", "add_index jobs_by_key"),
        ("DROP TABLE job_facts", "add_table job_facts"),
        ("UPDATE jobs_schema_version SET version = 3", "jobs_schema_version is 3, but .* only version 4"),
        ("UPDATE schema_version SET version = 2", "schema_version is 2, but .* only version 1"),
        ("DELETE FROM schema_version", "schema_version is none"),
    ],
)
def test_a_changed_or_older_database_is_rejected_unchanged(old_url: str, change: str, message: str) -> None:
    execute(old_url, change)
    before = schema_of(old_url)

    with pytest.raises(SchemaUnknown, match=message):
        Database.open(old_url)

    assert schema_of(old_url) == before


def test_tables_of_other_programs_do_not_prevent_an_upgrade(old_url: str) -> None:
    execute(old_url, "CREATE TABLE others (id INTEGER)")

    Database.open(old_url).close()

    assert "others" in schema_of(old_url)


def test_a_database_of_a_newer_release_is_rejected(any_url: str) -> None:
    Database.open(any_url).close()
    execute(any_url, "UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(SchemaUnknown, match="revision 9999, which this release does not know"):
        Database.open(any_url)


@pytest.mark.parametrize("is_old", [False, True], ids=["new", "old"])
def test_of_several_programs_that_start_at_once_one_upgrades(
    any_url: str, caplog: pytest.LogCaptureFixture, *, is_old: bool
) -> None:
    url = any_url
    if is_old:
        fill(url)
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

    with reading(url) as connection:
        assert connection.execute(sa.select(REVISION)).scalars().all() == [HEAD]


def test_a_table_can_be_replaced_although_others_refer_to_it(tmp_path: Path) -> None:
    """Alembic does so to change a table in SQLite."""
    url = f"sqlite:///{tmp_path / 'old.db'}"
    fill(url)
    with closing(Database.open(url)) as database:
        with database._upgrading() as connection:
            operations = Operations(MigrationContext.configure(connection))
            with operations.batch_alter_table("keys", recreate="always") as keys:
                keys.add_column(sa.Column("notes", sa.Text))

        assert UsageStore(database).get_month(KEY_ID, "2026-11").characters == 42
        with database.reading() as connection:
            assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar_one() == 1
            assert connection.exec_driver_sql("PRAGMA foreign_key_check").all() == []


def test_an_upgrade_may_take_longer_than_a_statement_of_a_request(any_url: str) -> None:
    with closing(Database.open(any_url)) as database, database._upgrading() as connection:
        if kind_of(any_url) == "postgresql":
            assert connection.execute(sa.text("SHOW statement_timeout")).scalar_one() == "0"


def test_head_is_the_only_latest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))

    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]
