"""The tables of accounts, and the version of their schema."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Dialect,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
)

SCHEMA_VERSION = 1
"""Version of the tables. A change increases it and adds a step to `database` that migrates older tables."""


class UtcTime(TypeDecorator[datetime]):
    """A point in time, to the microsecond. SQLite stores no time zone, so the stored value is UTC."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        del dialect
        return None if value is None else value.astimezone(UTC)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        del dialect
        if not isinstance(value, datetime):
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


METADATA = MetaData()

SCHEMA = Table("schema_version", METADATA, Column("version", Integer, nullable=False))

KEYS = Table(
    "keys",
    METADATA,
    Column("id", String(8), primary_key=True),
    Column("name", Text, nullable=False),
    Column("secret_sha256", LargeBinary, nullable=False),
    Column("scopes", Text, nullable=False),  # separated by spaces
    Column("characters_per_month", BigInteger),
    Column("requests_per_minute", BigInteger),
    Column("created_at", UtcTime, nullable=False),
    Column("expires_at", UtcTime),
    Column("revoked_at", UtcTime),
)

USAGE = Table(
    "usage",
    METADATA,
    Column("key_id", ForeignKey(KEYS.c.id), primary_key=True),
    Column("month", String(7), primary_key=True),  # such as 2026-11
    Column("characters", BigInteger, CheckConstraint("characters >= 0"), nullable=False),
    Column("requests", BigInteger, nullable=False),
    Column("documents", BigInteger, CheckConstraint("documents >= 0"), nullable=False),
)

GLOSSARIES = Table(
    "glossaries",
    METADATA,
    Column("id", String(36), primary_key=True),
    Column("key_id", ForeignKey(KEYS.c.id), index=True),  # NULL: of callers without a key
    Column("name", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("entries", Text, nullable=False),  # source, tab, target, line feed
    Column("entry_count", Integer, nullable=False),
    Column("created_at", UtcTime, nullable=False),
)
