"""Totals of what each owner stores, memories that are incomplete, and jobs without webhooks."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_TOTALS = sa.table("totals", *map(sa.column, ("resource", "owner", "num_items", "size_bytes")))
_JOBS = sa.table(
    "jobs", *map(sa.column, ("key_id", "input_size_bytes", "result_size_bytes", "errors_size_bytes"))
)
_MEMORIES = sa.table("memories", sa.column("key_id"), sa.column("size_bytes"))
_GLOSSARIES = sa.table("glossaries", sa.column("id"), sa.column("key_id"))
_DICTIONARIES = sa.table("glossary_dictionaries", sa.column("glossary_id"), sa.column("size_bytes"))


def upgrade() -> None:
    """Create the table of totals, count what is stored, and drop the columns of webhooks."""
    op.create_table(
        "totals",
        sa.Column("resource", sa.String(16), primary_key=True),
        sa.Column("owner", sa.String(8), primary_key=True),
        sa.Column("num_items", sa.BigInteger, nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
    )
    jobs, empty = _JOBS.c, sa.literal("")
    results = sa.func.coalesce(jobs.result_size_bytes, 0) + sa.func.coalesce(jobs.errors_size_bytes, 0)
    job_bytes = 2 * jobs.input_size_bytes + results
    _count("jobs", sa.select(jobs.key_id.label("owner"), job_bytes.label("size_bytes")))
    _count("all jobs", sa.select(empty.label("owner"), job_bytes.label("size_bytes")))
    _count("memories", sa.select(_MEMORIES.c.key_id.label("owner"), _MEMORIES.c.size_bytes))
    of_glossary = _DICTIONARIES.c.glossary_id == _GLOSSARIES.c.id
    size = sa.select(sa.func.sum(_DICTIONARIES.c.size_bytes)).where(of_glossary).scalar_subquery()
    _count("glossaries", sa.select(_GLOSSARIES.c.key_id.label("owner"), size.label("size_bytes")))
    op.create_index("jobs_by_key_and_state", "jobs", ["key_id", "state"])
    op.add_column("memories", sa.Column("removable_at", sa.DateTime(timezone=True)))
    with op.batch_alter_table("jobs") as jobs_table:  # on SQLite, this recreates the table
        for name in ("webhook_tries", "webhook_due_at", "webhook_state", "webhook_problem"):
            jobs_table.drop_column(name)


def _count(resource: str, items: sa.Select[Any]) -> None:
    rows = items.subquery()
    owner = sa.func.coalesce(rows.c.owner, "")
    size_bytes = sa.func.coalesce(sa.func.sum(rows.c.size_bytes), 0)
    counts = sa.select(sa.literal(resource), owner, sa.func.count(), size_bytes).group_by(owner)
    op.execute(_TOTALS.insert().from_select([*_TOTALS.c.keys()], counts.select_from(rows)))
