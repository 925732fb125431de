"""Access to keys and usage for an operator's commands."""

from dataclasses import dataclass
from types import TracebackType
from typing import Self

from service.accounts.database import DEFAULT_URL, Database
from service.accounts.key_store import KeyStore
from service.accounts.usage import UsageStore


@dataclass(frozen=True, slots=True)
class AdminStores:
    """The keys of a database and their usage."""

    keys: KeyStore
    usage: UsageStore
    database: Database

    @classmethod
    def open(cls, url: str | None) -> Self:
        """Open a database, by default `dragoman.db` in the current folder.

        Raises:
            StoreError: the database cannot be used; the message names it and the cause.
        """
        database = Database.open(url or DEFAULT_URL)
        return cls(KeyStore(database), UsageStore(database), database)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.database.close()
