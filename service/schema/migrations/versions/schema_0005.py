"""Translation memories; review marks and memories of jobs; origin and confidence of translations."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "memories",
        sa.Column("id", sa.String(36), primary_key=True),
        sa.Column("key_id", sa.String(8), sa.ForeignKey("keys.id")),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("source", sa.String(64), nullable=False),
        sa.Column("target", sa.String(64), nullable=False),
        sa.Column("num_pairs", sa.Integer, nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_memories_key_id", "memories", ["key_id"])
    op.create_table(
        "memory_pairs",
        sa.Column("memory_id", sa.String(36), sa.ForeignKey("memories.id"), primary_key=True),
        sa.Column("digest", sa.LargeBinary, primary_key=True),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("size_bytes", sa.Integer, nullable=False),
    )
    op.add_column("jobs", sa.Column("review", sa.String(16)))
    op.add_column("jobs", sa.Column("memory_id", sa.String(36)))
    op.add_column("translations", sa.Column("origin", sa.String(16)))
    op.add_column("translations", sa.Column("confidence", sa.Float))
