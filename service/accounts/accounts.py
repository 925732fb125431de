"""All that a server asks about its callers, in one place."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Self

from service.accounts.callers import ANYONE, Caller, caller_with
from service.accounts.database import DEFAULT_URL, TIMEOUT_S, Database
from service.accounts.errors import MissingKey, NoDatabase, UnknownKey
from service.accounts.glossaries import Glossary, GlossaryStore, NewGlossary
from service.accounts.key_store import KeyStore
from service.accounts.keys import Key, PresentedKey, is_secret_of, month_of, parse_key
from service.accounts.usage import Charge, Usage, UsageStore

KEY_TTL_S = 10.0
"""A key goes on working for so long after another process has revoked it."""

logger = logging.getLogger(__name__)


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Clock:
    """What time it is."""

    now: Callable[[], datetime] = utc_now
    monotonic: Callable[[], float] = time.monotonic
    """Seconds."""


SYSTEM_CLOCK = Clock()


@dataclass(frozen=True, slots=True)
class AccountsOptions:
    """How accounts are kept."""

    key_ttl_s: float = KEY_TTL_S
    """For which a key that was looked up is not looked up again."""
    timeout_s: float = TIMEOUT_S
    """After which the database is given up."""
    clock: Clock = SYSTEM_CLOCK


DEFAULTS = AccountsOptions()


@dataclass(frozen=True, slots=True)
class Accounts:
    """Callers by their keys, what they have used, and their glossaries.

    Any thread may call it; every method but `identify`, with a key seen lately, waits for the database, so an
    event loop must not.
    """

    requires_key: bool
    options: AccountsOptions
    _database: Database | None
    _keys: "_RecentKeys | None"

    @classmethod
    def open(cls, url: str | None, *, requires_key: bool, options: AccountsOptions = DEFAULTS) -> Self:
        """Open the database of accounts.

        Args:
            url: `sqlite:///FILE` or `postgresql://USER:PASSWORD@HOST/NAME`. None: `dragoman.db` in the
                current folder if keys are required, and no database at all if they are not. Without one there
                are no keys: whatever is presented as one is not looked at, nothing is counted, and glossaries
                raise NoDatabase.
            requires_key: whether a caller must present a key. One that is presented must always be valid.
            options: waits and the clock.

        Raises:
            StoreError: it cannot be used; the message names it and the cause.
        """
        if url is None and not requires_key:
            return cls(requires_key, options, None, None)
        database = Database.open(url or DEFAULT_URL, options.timeout_s)
        keys = _RecentKeys(KeyStore(database), options.key_ttl_s, options.clock.monotonic)
        return cls(requires_key, options, database, keys)

    @property
    def database(self) -> Database | None:
        """Where they are kept; None where there are none."""
        return self._database

    def close(self) -> None:
        if self._database is not None:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def identify(self, presented: str | None) -> Caller:
        """Who presents this key. An empty one is none.

        Raises:
            MissingKey: none was presented, and one is required.
            UnknownKey: it is not a valid key, whether or not one is required.
            StoreError: the database cannot be used.
        """
        if self._keys is None:
            return ANYONE
        if not presented:
            if self.requires_key:
                raise MissingKey
            return ANYONE
        parts = parse_key(presented)
        if parts is None:
            raise UnknownKey
        return caller_with(self._verify(parts, self._keys))

    def _verify(self, presented: PresentedKey, keys: "_RecentKeys") -> Key:
        key = keys.find(presented.id)
        if not is_secret_of(presented, key) or key is None:
            raise UnknownKey
        # Only its holder learns by waiting what became of a key, and only the log in words.
        if not key.is_valid_at(self.options.clock.now()):
            logger.info(
                "key %s was refused: it %s", key.id, "was revoked" if key.revoked_at else "has expired"
            )
            raise UnknownKey
        return key

    def charge(self, caller: Caller, characters: int, *, documents: int = 0) -> Charge:
        """Count a request: its characters, and documents if it has any. Of callers without a key nothing is.

        Returns what `refund` takes if the work fails.

        Raises:
            ValueError: less than none are to be counted.
            QuotaExceeded: the month's limit would be passed; nothing is counted.
            StoreError: the database cannot be used; nothing is counted.
        """
        if characters < 0 or documents < 0:
            raise ValueError(f"{characters} characters and {documents} documents cannot be charged")
        charge = Charge(caller.key_id, self._month(), characters, documents)
        if caller.key_id is not None:
            UsageStore(self._need_database("quotas")).charge(charge, caller.limits.characters_per_month)
        return charge

    def refund(self, charge: Charge) -> None:
        """Take back what was charged for work that failed, once. The request stays counted.

        Raises:
            StoreError: the database cannot be used, or less than this is counted, as after a second refund.
        """
        if charge.key_id is not None:
            UsageStore(self._need_database("quotas")).refund(charge)

    def usage(self, caller: Caller) -> Usage:
        """What the caller has used this month, UTC; its limit is `caller.limits`. Nothing without a key."""
        if caller.key_id is None:
            return Usage(self._month())
        return UsageStore(self._need_database("quotas")).of_month(caller.key_id, self._month())

    def add_glossary(self, caller: Caller, new: NewGlossary) -> Glossary:
        """Keep a glossary for its caller, or for all who come without a key.

        Raises:
            GlossaryInvalid: naming the field and the line.
            TooManyGlossaries: the caller has as many as one may have.
            StoreError: there is no database, or it cannot be used; nothing is kept.
        """
        return self._glossaries().add(caller.key_id, new, self.options.clock.now())

    def list_glossaries(self, caller: Caller) -> list[Glossary]:
        """The caller's own, the oldest first; none where there is no database."""
        return [] if self._database is None else self._glossaries().list(caller.key_id)

    def get_glossary(self, caller: Caller, glossary_id: str) -> Glossary:
        """Raises UnknownGlossary if the caller has none of this id."""
        return self._glossaries().get(caller.key_id, glossary_id)

    def glossary_entries(self, caller: Caller, glossary_id: str) -> dict[str, str]:
        """Target terms by source terms, in the order in which they came. Raises UnknownGlossary."""
        return self._glossaries().entries(caller.key_id, glossary_id)

    def glossary_tsv(self, caller: Caller, glossary_id: str) -> str:
        """The same as text: source term, tab, target term, line feed. Raises UnknownGlossary."""
        return self._glossaries().tsv(caller.key_id, glossary_id)

    def delete_glossary(self, caller: Caller, glossary_id: str) -> None:
        """Raises UnknownGlossary if the caller has none of this id."""
        self._glossaries().delete(caller.key_id, glossary_id)

    def _month(self) -> str:
        return month_of(self.options.clock.now())

    def _glossaries(self) -> GlossaryStore:
        return GlossaryStore(self._need_database("glossaries"))

    def _need_database(self, what_for: str) -> Database:
        if self._database is None:
            raise NoDatabase("none", f"{what_for} need one; the server's operator must set database_url")
        return self._database


@dataclass(slots=True)
class _RecentKeys:
    """Keys that were looked up lately. Ids without a key are looked up each time: they have no end."""

    store: KeyStore
    ttl_s: float
    monotonic: Callable[[], float]
    _found: dict[str, tuple[float, Key]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def find(self, key_id: str) -> Key | None:
        asked_at = self.monotonic()  # before the look, so that what it finds is never older than it seems
        with self._lock:
            looked_up_at, key = self._found.get(key_id, (0.0, None))
        if key is not None and asked_at - looked_up_at < self.ttl_s:
            return key
        key = self.store.find(key_id)
        with self._lock:
            if key is None:
                self._found.pop(key_id, None)
            else:
                self._found[key_id] = (asked_at, key)
        return key
