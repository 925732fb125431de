"""Add the number of units of its file that the import of a memory skipped."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the column; of older memories nobody knows it."""
    op.add_column("memories", sa.Column("num_skipped", sa.Integer, nullable=False, server_default="0"))
