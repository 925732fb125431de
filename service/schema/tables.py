"""All tables of the database: accounts, what they store, jobs, and the journals of jobs.

A change here needs a migration in `service/schema/migrations/versions`, with which `HEAD` changes as well.
"""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

HEAD = "0004"
"""The latest migration: the revision of a database with the tables below."""
JOB_LENGTH = 64


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
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("version", sa.Integer, nullable=False, server_default="1"),  # increases with each change
)

GLOSSARY_DICTIONARIES = sa.Table(
    "glossary_dictionaries",
    METADATA,
    sa.Column("glossary_id", sa.ForeignKey(GLOSSARIES.c.id), primary_key=True),
    sa.Column("source", sa.String(64), primary_key=True),
    sa.Column("target", sa.String(64), primary_key=True),
    sa.Column("position", sa.Integer, nullable=False),  # in the glossary
    sa.Column("entries", sa.Text, nullable=False),  # JSON: for each, an array of the source and its targets
    sa.Column("entry_count", sa.Integer, nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
)

MEMORIES = sa.Table(
    "memories",
    METADATA,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("key_id", sa.ForeignKey(KEYS.c.id), index=True),  # NULL: of callers without a key
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("source", sa.String(64), nullable=False),
    sa.Column("target", sa.String(64), nullable=False),
    sa.Column("num_pairs", sa.Integer, nullable=False, default=0),
    sa.Column("size_bytes", sa.BigInteger, nullable=False, default=0),
    sa.Column("version", sa.Integer, nullable=False, default=0),  # increases with each change
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("removable_at", UtcTime),  # NULL: complete; others are invisible, and removed from then on
    sa.Column("num_skipped", sa.Integer, nullable=False, default=0, server_default="0"),  # units of its file
    sa.Column("updated_at", UtcTime),  # NULL: nobody knows it, and `created_at` is returned
)

MEMORY_PAIRS = sa.Table(
    "memory_pairs",
    METADATA,
    sa.Column("memory_id", sa.ForeignKey(MEMORIES.c.id), primary_key=True),
    sa.Column("digest", sa.LargeBinary, primary_key=True),  # of the normalised source
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("size_bytes", sa.Integer, nullable=False),
)

JOBS = sa.Table(
    "jobs",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),  # sorts by creation time
    sa.Column("key_id", sa.String(8)),  # NULL: callers without a key
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("request", sa.Text, nullable=False),  # JSON of a `JobRequest`
    sa.Column("input_size_bytes", sa.BigInteger, nullable=False),
    sa.Column("num_characters", sa.BigInteger, nullable=False),
    sa.Column("charged_month", sa.String(7), nullable=False),
    sa.Column("num_entries", sa.BigInteger, nullable=False),
    sa.Column("num_done", sa.BigInteger, nullable=False, default=0),
    sa.Column("num_failed", sa.BigInteger, nullable=False, default=0),
    sa.Column("num_flagged", sa.BigInteger, nullable=False, default=0),
    sa.Column("entries_per_s", sa.Float),
    sa.Column("problem", sa.Text),
    sa.Column("created_at", UtcTime, nullable=False),
    sa.Column("started_at", UtcTime),
    sa.Column("finished_at", UtcTime),
    sa.Column("expires_at", UtcTime),
    sa.Column("result", sa.Text),  # the blob's name
    sa.Column("result_size_bytes", sa.BigInteger),
    sa.Column("result_sha256", sa.String(64)),
    sa.Column("errors", sa.Text),  # the blob's name
    sa.Column("errors_size_bytes", sa.BigInteger),
    sa.Column("is_cancelling", sa.Boolean, nullable=False, default=False),
    sa.Column("worker", sa.String(32)),
    sa.Column("leased_until", UtcTime),
    sa.Column("num_setbacks", sa.Integer, nullable=False, default=0),  # consecutive ones, without progress
    sa.Column("document_key_sha256", sa.String(64)),  # NULL: the job is not a document
    sa.Column("detected_source", sa.Text),
    sa.Column("num_terms", sa.Integer),  # NULL: the job has no terms, and no file of them
    sa.Index("jobs_by_key", "key_id", "id"),
    sa.Index("jobs_by_state", "state", "id"),
    sa.Index("jobs_by_key_and_state", "key_id", "state"),
)

TOTALS = sa.Table(
    "totals",
    METADATA,
    sa.Column("resource", sa.String(16), primary_key=True),
    sa.Column("owner", sa.String(8), primary_key=True),  # id of a key; empty: callers without a key
    sa.Column("num_items", sa.BigInteger, nullable=False),
    sa.Column("size_bytes", sa.BigInteger, nullable=False),
)

TRANSLATIONS = sa.Table(
    "translations",
    METADATA,
    sa.Column("job", sa.String(JOB_LENGTH), primary_key=True),
    sa.Column("key", sa.LargeBinary, primary_key=True),
    # Bytes, as text columns in PostgreSQL cannot hold every character.
    sa.Column("text", sa.LargeBinary),
    sa.Column("problem", sa.Text),
    sa.Column("is_cut", sa.Boolean, nullable=False),
    sa.Column("checksum", sa.LargeBinary, nullable=False),
    sa.Column("origin", sa.String(16)),  # NULL: a model, or no text
    sa.Column("confidence", sa.Float),
)

FACTS = sa.Table(
    "job_facts",
    METADATA,
    sa.Column("job", sa.String(JOB_LENGTH), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

JOURNAL_TABLES = (TRANSLATIONS, FACTS)
"""Tables of a journal, which a batch command keeps in a file of its own."""
