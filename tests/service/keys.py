"""Keys in a server's database, and what was used of them."""

from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime

from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.keys import DEFAULT_SCOPES, KeyLimits, KeyOptions, Scope
from service.accounts.usage import Usage, UsageStore


@dataclass(frozen=True)
class Keys:
    """Keys of the database at a URL."""

    url: str

    def make(self, *scopes: Scope, **limits: int) -> str:
        """A new key as a client presents it; without scopes it has the usual ones."""
        options = KeyOptions("test", frozenset(scopes) or DEFAULT_SCOPES, KeyLimits(**limits))
        with closing(Database.open(self.url)) as database:
            return KeyStore(database).create(options, datetime.now(UTC)).presented

    def bearer(self, *scopes: Scope, **limits: int) -> dict[str, str]:
        """The header with a new key."""
        return {"Authorization": f"Bearer {self.make(*scopes, **limits)}"}

    def usage(self, key: str) -> Usage:
        """All that was ever counted of a key or of the header with it; no test lasts a month."""
        with closing(Database.open(self.url)) as database:
            months = UsageStore(database).of_key(id_of(key))
        return months[0] if months else Usage("")

    def revoke(self, key: str) -> None:
        with closing(Database.open(self.url)) as database:
            KeyStore(database).revoke(id_of(key), datetime.now(UTC))


def id_of(presented: str) -> str:
    return presented.split("_")[1]
