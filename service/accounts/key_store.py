"""API keys in the database."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Row, insert, select, update

from service.accounts.database import Database
from service.accounts.errors import KeyInvalid, StoreError
from service.accounts.keys import Key, KeyLimits, KeyOptions, NewKey, Scope, make_key
from service.schema.tables import KEYS

_MAX_TRIES = 8
"""Maximum tries to find a free id. Ids are short: with a million keys, one try in 4,000 collides."""


@dataclass(frozen=True, slots=True)
class KeyStore:
    """All keys ever created. None is deleted, so that their usage can be reported later."""

    database: Database

    def create(self, options: KeyOptions, now: datetime) -> NewKey:
        """Create a key, and store what is needed to recognise it.

        Raises:
            KeyInvalid: an option cannot be used; the error names the field.
            StoreError: the database cannot be used; no key is created.
        """
        with self.database.writing() as connection:
            for _ in range(_MAX_TRIES):
                new = make_key(options, now)
                taken = select(KEYS.c.id).where(KEYS.c.id == new.key.id)
                if connection.execute(taken).first() is None:
                    connection.execute(insert(KEYS).values(_as_row(new.key)))
                    return new
        raise StoreError(self.database.name, f"found no unused id in {_MAX_TRIES} attempts; try again")

    def find(self, key_id: str) -> Key | None:
        with self.database.reading() as connection:
            row = connection.execute(select(KEYS).where(KEYS.c.id == key_id)).first()
            return None if row is None else _as_key(self.database, row)

    def list(self) -> list[Key]:
        """Return all keys, oldest first, including expired and revoked ones."""
        with self.database.reading() as connection:
            rows = connection.execute(select(KEYS).order_by(KEYS.c.created_at, KEYS.c.id)).all()
            return [_as_key(self.database, row) for row in rows]

    def revoke(self, key_id: str, now: datetime) -> None:
        """Revoke a key for ever. A key that was revoked before stays as it is.

        Raises:
            KeyInvalid: there is no such key.
        """
        with self.database.writing() as connection:
            is_valid = (KEYS.c.id == key_id) & KEYS.c.revoked_at.is_(None)
            connection.execute(update(KEYS).where(is_valid).values(revoked_at=now))
            if connection.execute(select(KEYS.c.id).where(KEYS.c.id == key_id)).first() is None:
                raise KeyInvalid("id", "key not found; `dragoman keys list` shows all keys")


def _as_row(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "secret_sha256": key.secret_sha256,
        "scopes": " ".join(sorted(key.scopes)),
        "characters_per_month": key.limits.characters_per_month,
        "requests_per_minute": key.limits.requests_per_minute,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
    }


def _as_key(database: Database, row: Row[Any]) -> Key:
    try:
        return Key(
            id=row.id,
            name=row.name,
            secret_sha256=bytes(row.secret_sha256),
            scopes=frozenset(Scope(scope) for scope in row.scopes.split()),
            limits=KeyLimits(row.characters_per_month, row.requests_per_minute),
            created_at=row.created_at,
            expires_at=row.expires_at,
            revoked_at=row.revoked_at,
        )
    except (ValueError, KeyInvalid) as error:
        raise StoreError(database.name, f"key {row.id} cannot be read: {error}") from error
