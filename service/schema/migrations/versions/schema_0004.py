"""When the pairs of a memory were last changed."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the column; of older memories nobody knows it."""
    op.add_column("memories", sa.Column("updated_at", sa.DateTime(timezone=True)))
