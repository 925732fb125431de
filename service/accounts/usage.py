"""Usage of keys by calendar month in UTC, with a limit that no charge exceeds."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects import postgresql, sqlite

from service.accounts.database import Database
from service.accounts.errors import QuotaExceeded, StoreError
from service.accounts.write_lock import WriteKind
from service.schema.tables import USAGE


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of one key in one month."""

    month: str
    """Month such as 2026-11."""
    characters: int = 0
    requests: int = 0
    documents: int = 0


@dataclass(frozen=True, slots=True)
class Charge:
    """A counted request, to be refunded if the work fails."""

    key_id: str | None
    """Id of the key; None if nothing was counted."""
    month: str
    characters: int
    documents: int


@dataclass(frozen=True, slots=True)
class UsageStore:
    """Usage counters in the database. A charge is on disk when the call returns."""

    database: Database

    def charge(self, charge: Charge, limit: int | None) -> None:
        """Count a request with its characters, if the month's total stays within `limit`.

        One statement reads, compares and writes, so that concurrent charges cannot exceed the limit together,
        whatever threads, processes or machines make them.

        Raises:
            QuotaExceeded: the total would exceed the limit; nothing is counted.
            StoreError: the database cannot be used; nothing is counted.
        """
        with self.database.writing(WriteKind.CHARGE) as connection:
            charge_in_transaction(connection, charge, limit)

    def refund(self, charge: Charge) -> None:
        """Refund a charge in the month in which it was made. The request stays counted.

        Raises:
            StoreError: the database cannot be used, or less than this was charged.
        """
        with self.database.writing(WriteKind.CHARGE) as connection:
            refund_in_transaction(connection, charge, self.database.name)

    def get_month(self, key_id: str, month: str) -> Usage:
        with self.database.reading() as connection:
            return _read(connection, key_id, month)

    def of_keys(self, key_ids: Sequence[str], month: str) -> list[Usage]:
        """Return the usage of each key in one month, in the order of `key_ids`."""
        with self.database.reading() as connection:
            rows = connection.execute(select(USAGE).where(USAGE.c.month == month)).all()
        used = {row.key_id: Usage(month, row.characters, row.requests, row.documents) for row in rows}
        return [used.get(key_id, Usage(month)) for key_id in key_ids]

    def of_key(self, key_id: str) -> list[Usage]:
        """Return the usage in every month in which the key was used, latest first."""
        with self.database.reading() as connection:
            months = select(USAGE).where(USAGE.c.key_id == key_id).order_by(USAGE.c.month.desc())
            rows = connection.execute(months).all()
        return [Usage(row.month, row.characters, row.requests, row.documents) for row in rows]


def charge_in_transaction(connection: Connection, charge: Charge, limit: int | None) -> None:
    """Charge as `UsageStore.charge` does, within a larger transaction."""
    # The statement does not compare a month's first row with the limit.
    is_counted = (limit is None or charge.characters <= limit) and _count(connection, charge, limit)
    if not is_counted:
        used = _read(connection, charge.key_id, charge.month).characters
        raise QuotaExceeded(limit or 0, used, charge.characters, charge.month)


def refund_in_transaction(connection: Connection, charge: Charge, database: str) -> None:
    """Refund as `UsageStore.refund` does, within a larger transaction; errors name `database`."""
    row = (USAGE.c.key_id == charge.key_id) & (USAGE.c.month == charge.month)
    has_charge = (USAGE.c.characters >= charge.characters) & (USAGE.c.documents >= charge.documents)
    refund = update(USAGE).where(row & has_charge)
    rest = refund.values(
        characters=USAGE.c.characters - charge.characters, documents=USAGE.c.documents - charge.documents
    )
    if connection.execute(rest.returning(USAGE.c.key_id)).first() is None:
        raise StoreError(
            database,
            f"key {charge.key_id} was charged less than {charge.characters} characters and "
            f"{charge.documents} documents in {charge.month}, so they cannot be refunded",
        )


def _count(connection: Connection, charge: Charge, limit: int | None) -> bool:
    """Count the charge if it is within the limit; return whether it is."""
    add = (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(USAGE)
    total = USAGE.c.characters + charge.characters
    counted = add.values(
        key_id=charge.key_id,
        month=charge.month,
        characters=charge.characters,
        requests=1,
        documents=charge.documents,
    ).on_conflict_do_update(
        index_elements=[USAGE.c.key_id, USAGE.c.month],
        set_={
            "characters": total,
            "requests": USAGE.c.requests + 1,
            "documents": USAGE.c.documents + charge.documents,
        },
        where=None if limit is None else total <= limit,
    )
    return connection.execute(counted.returning(USAGE.c.key_id)).first() is not None


def _read(connection: Connection, key_id: str | None, month: str) -> Usage:
    row = connection.execute(
        select(USAGE).where((USAGE.c.key_id == key_id) & (USAGE.c.month == month))
    ).first()
    return Usage(month) if row is None else Usage(month, row.characters, row.requests, row.documents)
