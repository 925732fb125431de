"""Drop the tables of versions; Alembic's own table has the revision."""

from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.drop_table("jobs_schema_version")
    op.drop_table("schema_version")
