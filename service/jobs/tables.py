"""The table of jobs and its schema version. Translations of jobs are in the tables of the journal."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
    update,
)

from service.accounts.database import Database
from service.accounts.errors import SchemaUnknown
from service.accounts.tables import UtcTime
from service.batch.journal import METADATA as JOURNAL_METADATA

SCHEMA_VERSION = 4
"""Version of the tables. Each change increments it, and adds a step to `MIGRATIONS`."""
JOBS_LOCK = 0x_D8A6_0AB5
"""Advisory lock in PostgreSQL that serialises programs that create tables or add jobs."""

METADATA = MetaData()

SCHEMA = Table("jobs_schema_version", METADATA, Column("version", Integer, nullable=False))

JOBS = Table(
    "jobs",
    METADATA,
    Column("id", String(32), primary_key=True),  # sorts by creation time
    Column("key_id", String(8)),  # NULL: callers without a key
    Column("state", String(16), nullable=False),
    Column("file_name", Text, nullable=False),
    Column("source", Text),  # NULL: detect it
    Column("target", Text),
    Column("model", Text),
    Column("columns", Text, nullable=False),  # JSON
    Column("on_failure", String(16), nullable=False),
    Column("webhook_url", Text),
    Column("input_size_bytes", BigInteger, nullable=False),
    Column("num_characters", BigInteger, nullable=False),
    Column("charged_month", String(7), nullable=False),
    Column("num_entries", BigInteger, nullable=False),
    Column("num_done", BigInteger, nullable=False),
    Column("num_failed", BigInteger, nullable=False),
    Column("entries_per_s", Float),
    Column("problem", Text),
    Column("created_at", UtcTime, nullable=False),
    Column("started_at", UtcTime),
    Column("finished_at", UtcTime),
    Column("expires_at", UtcTime),
    Column("result", Text),  # the blob's name
    Column("result_size_bytes", BigInteger),
    Column("result_sha256", String(64)),
    Column("errors", Text),  # the blob's name
    Column("errors_size_bytes", BigInteger),
    Column("is_cancelling", Boolean, nullable=False),
    Column("worker", String(32)),
    Column("leased_until", UtcTime),
    Column("num_setbacks", Integer, nullable=False),  # consecutive ones, without progress
    Column("webhook_tries", Integer, nullable=False),
    Column("webhook_due_at", UtcTime),  # NULL: nothing is due
    Column("webhook_state", String(16)),  # NULL: there is no webhook
    Column("webhook_problem", Text),  # problem of the last try
    Column("document_key_sha256", String(64)),  # NULL: the job is not a document
    Column("detected_source", Text),
    Index("jobs_by_key", "key_id", "id"),
    Index("jobs_by_state", "state", "id"),
)


MIGRATIONS = {
    1: (
        "ALTER TABLE jobs ADD COLUMN ticket_sha256 VARCHAR(64)",
        "ALTER TABLE jobs ADD COLUMN detected_source TEXT",
    ),
    2: (
        "ALTER TABLE jobs ADD COLUMN webhook_state VARCHAR(16)",
        "ALTER TABLE jobs ADD COLUMN webhook_problem TEXT",
        (
            "UPDATE jobs SET webhook_state = 'pending' WHERE webhook_url IS NOT NULL"
            " AND (webhook_due_at IS NOT NULL OR state IN ('queued', 'running'))"
        ),
    ),
    3: ("ALTER TABLE jobs RENAME COLUMN ticket_sha256 TO document_key_sha256",),
}
"""Statements that migrate tables of each version to the next."""


def create_tables(database: Database) -> None:
    """Create missing tables, and migrate older ones to this version.

    Raises:
        SchemaUnknown: the tables have a version that this program does not know.
        StoreError: the database cannot be used.
    """
    with database.writing() as connection:
        lock_jobs(connection)
        JOURNAL_METADATA.create_all(connection)
        if not inspect(connection).has_table(SCHEMA.name):
            METADATA.create_all(connection, checkfirst=False)
            connection.execute(insert(SCHEMA).values(version=SCHEMA_VERSION))
        versions = list(connection.execute(select(SCHEMA.c.version)).scalars())
        while len(versions) == 1 and versions[0] in MIGRATIONS:
            for statement in MIGRATIONS[versions[0]]:
                connection.execute(text(statement))
            versions = [versions[0] + 1]
            connection.execute(update(SCHEMA).values(version=versions[0]))
        if versions != [SCHEMA_VERSION]:
            problem = f"its jobs have version {versions}, but this release needs version {SCHEMA_VERSION}"
            raise SchemaUnknown(database.name, problem)


def lock_jobs(connection: Connection) -> None:
    """Wait until no other transaction holds the jobs lock, and hold it to the end. SQLite needs no lock."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": JOBS_LOCK})
