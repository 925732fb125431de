"""The schema of the last release without Alembic. A database of it is adopted if it has these tables."""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from service.schema.errors import SchemaError

revision = "0001"
down_revision = None

UTC_TIME = sa.DateTime(timezone=True)
METADATA = sa.MetaData()

sa.Table(
    "keys",
    METADATA,
    sa.Column("id", sa.String(8), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("secret_sha256", sa.LargeBinary, nullable=False),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("characters_per_month", sa.BigInteger),
    sa.Column("requests_per_minute", sa.BigInteger),
    sa.Column("created_at", UTC_TIME, nullable=False),
    sa.Column("expires_at", UTC_TIME),
    sa.Column("revoked_at", UTC_TIME),
)
sa.Table(
    "usage",
    METADATA,
    sa.Column("key_id", sa.ForeignKey("keys.id"), primary_key=True),
    sa.Column("month", sa.String(7), primary_key=True),
    sa.Column("characters", sa.BigInteger, sa.CheckConstraint("characters >= 0"), nullable=False),
    sa.Column("requests", sa.BigInteger, nullable=False),
    sa.Column("documents", sa.BigInteger, sa.CheckConstraint("documents >= 0"), nullable=False),
)
sa.Table(
    "glossaries",
    METADATA,
    sa.Column("id", sa.String(36), primary_key=True),
    sa.Column("key_id", sa.ForeignKey("keys.id"), index=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("source", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("entries", sa.Text, nullable=False),
    sa.Column("entry_count", sa.Integer, nullable=False),
    sa.Column("created_at", UTC_TIME, nullable=False),
)
sa.Table(
    "jobs",
    METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("key_id", sa.String(8)),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("file_name", sa.Text, nullable=False),
    sa.Column("source", sa.Text),
    sa.Column("target", sa.Text),
    sa.Column("model", sa.Text),
    sa.Column("columns", sa.Text, nullable=False),
    sa.Column("on_failure", sa.String(16), nullable=False),
    sa.Column("webhook_url", sa.Text),
    sa.Column("input_size_bytes", sa.BigInteger, nullable=False),
    sa.Column("num_characters", sa.BigInteger, nullable=False),
    sa.Column("charged_month", sa.String(7), nullable=False),
    sa.Column("num_entries", sa.BigInteger, nullable=False),
    sa.Column("num_done", sa.BigInteger, nullable=False),
    sa.Column("num_failed", sa.BigInteger, nullable=False),
    sa.Column("entries_per_s", sa.Float),
    sa.Column("problem", sa.Text),
    sa.Column("created_at", UTC_TIME, nullable=False),
    sa.Column("started_at", UTC_TIME),
    sa.Column("finished_at", UTC_TIME),
    sa.Column("expires_at", UTC_TIME),
    sa.Column("result", sa.Text),
    sa.Column("result_size_bytes", sa.BigInteger),
    sa.Column("result_sha256", sa.String(64)),
    sa.Column("errors", sa.Text),
    sa.Column("errors_size_bytes", sa.BigInteger),
    sa.Column("is_cancelling", sa.Boolean, nullable=False),
    sa.Column("worker", sa.String(32)),
    sa.Column("leased_until", UTC_TIME),
    sa.Column("num_setbacks", sa.Integer, nullable=False),
    sa.Column("webhook_tries", sa.Integer, nullable=False),
    sa.Column("webhook_due_at", UTC_TIME),
    sa.Column("webhook_state", sa.String(16)),
    sa.Column("webhook_problem", sa.Text),
    sa.Column("document_key_sha256", sa.String(64)),
    sa.Column("detected_source", sa.Text),
    sa.Index("jobs_by_key", "key_id", "id"),
    sa.Index("jobs_by_state", "state", "id"),
)
sa.Table(
    "translations",
    METADATA,
    sa.Column("job", sa.String(64), primary_key=True),
    sa.Column("key", sa.LargeBinary, primary_key=True),
    sa.Column("text", sa.LargeBinary),
    sa.Column("problem", sa.Text),
    sa.Column("is_cut", sa.Boolean, nullable=False),
    sa.Column("checksum", sa.LargeBinary, nullable=False),
)
sa.Table(
    "job_facts",
    METADATA,
    sa.Column("job", sa.String(64), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

VERSION = sa.Table("schema_version", METADATA, sa.Column("version", sa.Integer, nullable=False))
JOBS_VERSION = sa.Table("jobs_schema_version", METADATA, sa.Column("version", sa.Integer, nullable=False))
VERSIONS = {VERSION: 1, JOBS_VERSION: 4}
"""Versions of the last release without Alembic, by the table that recorded them."""


def upgrade() -> None:
    """Create the tables, or those of jobs if jobs were never used.

    Raises:
        SchemaError: the database is older, or differs from the schema.
    """
    connection = op.get_bind()
    for table, version in VERSIONS.items():
        _check_version(connection, table, version)
    if not sa.inspect(connection).has_table(JOBS_VERSION.name):
        METADATA.create_all(connection)
    only_ours = {"include_name": lambda name, kind, _: kind != "table" or name in METADATA.tables}
    context = MigrationContext.configure(connection, opts=only_ours)
    if differences := compare_metadata(context, METADATA):
        changes = "; ".join(_describe(differences))
        raise SchemaError(f"its tables were changed; make these changes, or use another database: {changes}")


def _check_version(connection: sa.Connection, table: sa.Table, version: int) -> None:
    if not sa.inspect(connection).has_table(table.name):
        return
    versions = list(connection.execute(sa.select(table.c.version)).scalars())
    if versions != [version]:
        found = ", ".join(map(str, versions)) or "none"
        raise SchemaError(
            f"its {table.name} is {found}, but this release upgrades only version {version}; use the release "
            "that created the tables, or another database"
        )


def _describe(differences: list[Any]) -> Iterator[str]:
    """Yield lines such as `remove_column keys notes`; Alembic nests the changes of one column in a list."""
    for difference in differences:
        if isinstance(difference, list):
            yield from _describe(difference)
        else:
            names = [getattr(part, "name", part) for part in difference]
            yield " ".join(name for name in names if isinstance(name, str))
