"""Number of bytes that jobs' files take, computed from their sizes in the database."""

from sqlalchemy import ColumnElement, Connection, func, inspect, select

from service.accounts.database import Database
from service.jobs.queries import has_key
from service.jobs.tables import JOBS

# The source counts twice while it is kept, to reserve space for its translation of about the same size.
_SIZES = (
    2 * JOBS.c.input_size_bytes
    + func.coalesce(JOBS.c.result_size_bytes, 0)
    + func.coalesce(JOBS.c.errors_size_bytes, 0)
)
_TOTAL = func.coalesce(func.sum(_SIZES), 0)


def stored_bytes(connection: Connection, *conditions: ColumnElement[bool]) -> int:
    """Return the bytes of the files of all jobs that fit the conditions, with space reserved for results."""
    return int(connection.execute(select(_TOTAL).where(*conditions)).scalar_one())


def stored_bytes_of_key(database: Database, key_id: str | None) -> int:
    """Return the bytes of a key's files, or of all callers without a key. Raises StoreError."""
    with database.reading() as connection:
        return stored_bytes(connection, has_key(key_id))


def stored_bytes_by_key(database: Database) -> dict[str | None, int]:
    """Return the same for every key that has jobs; empty if there is no table of jobs. Raises StoreError."""
    with database.reading() as connection:
        if not inspect(connection).has_table(JOBS.name):
            return {}
        rows = connection.execute(select(JOBS.c.key_id, _TOTAL).group_by(JOBS.c.key_id))
        return {key_id: int(size_bytes) for key_id, size_bytes in rows}
