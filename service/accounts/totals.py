"""Numbers and bytes of what each owner stores, kept with every change.

To count the rows would take the longer the more an owner has, while all other writers wait.
"""

from dataclasses import dataclass
from enum import StrEnum

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from service.schema.tables import TOTALS

ANONYMOUS_OWNER = ""
"""Stands for all callers without a key."""


class Resource(StrEnum):
    """Kind of thing that is counted."""

    GLOSSARIES = "glossaries"
    MEMORIES = "memories"
    JOBS = "jobs"
    ALL_JOBS = "all jobs"
    """Jobs of all owners together, under `ANONYMOUS_OWNER`."""


@dataclass(frozen=True, slots=True)
class Total:
    """Amount that an owner stores of one resource."""

    num_items: int = 0
    size_bytes: int = 0


def change_total(
    connection: sa.Connection, resource: Resource, owner: str | None, num_items: int, size_bytes: int
) -> Total:
    """Add to an owner's total, or subtract from it, and return it. In PostgreSQL, later callers wait."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    key = {"resource": resource, "owner": owner or ANONYMOUS_OWNER}
    new = dialect.insert(TOTALS).values(**key, num_items=num_items, size_bytes=size_bytes)
    added = {name: TOTALS.c[name] + new.excluded[name] for name in ("num_items", "size_bytes")}
    changed = new.on_conflict_do_update(index_elements=["resource", "owner"], set_=added)
    row = connection.execute(changed.returning(TOTALS.c.num_items, TOTALS.c.size_bytes)).one()
    return Total(row.num_items, row.size_bytes)


def read_total(connection: sa.Connection, resource: Resource, owner: str | None) -> Total:
    """Return an owner's total."""
    is_wanted = (TOTALS.c.resource == resource) & (TOTALS.c.owner == (owner or ANONYMOUS_OWNER))
    row = connection.execute(sa.select(TOTALS.c.num_items, TOTALS.c.size_bytes).where(is_wanted)).first()
    return Total() if row is None else Total(row.num_items, row.size_bytes)


def is_owned_by(table: sa.Table, owner: str | None) -> sa.ColumnElement[bool]:
    """Return the condition that a row belongs to an owner; None for all callers without a key."""
    return table.c.key_id.is_(None) if owner is None else table.c.key_id == owner


def is_own(table: sa.Table, owner: str | None, item_id: str) -> sa.ColumnElement[bool]:
    """Return the condition that a row has an id, whatever a client sent as one, and belongs to an owner."""
    # Databases fail at NUL and lone surrogates in text; ids contain neither.
    printable = item_id if item_id.isascii() and item_id.isprintable() else ""
    return (table.c.id == printable) & is_owned_by(table, owner)
