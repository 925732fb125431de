"""The schema of the first release, with whose tables every database begins."""

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Do nothing: an empty database gets its tables from `service.schema.tables`."""
