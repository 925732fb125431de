"""Glossaries of several language pairs, with several translations for a term; terms of jobs."""

import json

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

OLD = sa.table("glossaries", *map(sa.column, ("id", "source", "target", "entries", "entry_count")))


def upgrade() -> None:
    dictionaries = op.create_table(
        "glossary_dictionaries",
        sa.Column("glossary_id", sa.String(36), sa.ForeignKey("glossaries.id"), primary_key=True),
        sa.Column("source", sa.String(64), primary_key=True),
        sa.Column("target", sa.String(64), primary_key=True),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("entries", sa.Text, nullable=False),
        sa.Column("entry_count", sa.Integer, nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
    )
    connection = op.get_bind()
    for glossary_id in connection.execute(sa.select(OLD.c.id)).scalars().all():
        row = connection.execute(sa.select(OLD).where(OLD.c.id == glossary_id)).one()
        rows = [line.split("\t") for line in row.entries.split("\n")[:-1]]
        entries = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
        moved = {
            "glossary_id": row.id,
            "source": row.source,
            "target": row.target,
            "position": 0,
            "entries": entries,
            "entry_count": row.entry_count,
            "size_bytes": len(entries.encode()),
        }
        connection.execute(sa.insert(dictionaries).values(moved))
    with op.batch_alter_table("glossaries") as glossaries:
        for name in ("source", "target", "entries", "entry_count"):
            glossaries.drop_column(name)
        glossaries.add_column(sa.Column("version", sa.Integer, nullable=False, server_default="1"))
    op.add_column("jobs", sa.Column("glossary_id", sa.String(36)))
    op.add_column("jobs", sa.Column("num_terms", sa.Integer))
