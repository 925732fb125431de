"""The interface of accounts to a server: authentication and quotas."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from service.accounts.database import DEFAULT_URL, Database
from service.accounts.errors import MissingKey, NoDatabase, UnknownKey
from service.accounts.key_store import KeyStore
from service.accounts.keys import (
    ANONYMOUS,
    Caller,
    Key,
    ParsedKey,
    caller_from_key,
    is_secret_of,
    month_of,
    parse_key,
)
from service.accounts.usage import Charge, Usage, UsageStore

KEY_TTL_S = 10.0
"""Maximum seconds for which a key stays valid here after another process has revoked it."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Clock:
    """The sources of the current time."""

    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    monotonic: Callable[[], float] = time.monotonic
    """Returns seconds."""


SYSTEM_CLOCK = Clock()


@dataclass(frozen=True, slots=True)
class Accounts:
    """Callers by their keys, and their usage.

    Safe to use from several threads, but not from an event loop: every method waits for the database, except
    `identify` with a cached key.
    """

    requires_key: bool
    clock: Clock
    database: Database | None
    """The database of accounts; None if there is none."""
    _keys: "_KeyCache | None"

    @classmethod
    def open(cls, url: str | None, *, requires_key: bool, clock: Clock = SYSTEM_CLOCK) -> Self:
        """Open the database of accounts.

        Args:
            url: `sqlite:///FILE` or `postgresql://USER:PASSWORD@HOST/NAME`. None means `dragoman.db` in the
                current folder if keys are required, otherwise no database. Without a database there are no
                keys: a presented key is ignored, and nothing is counted.
            requires_key: whether a caller must present a key. A key that is presented must always be valid.
            clock: tells the time.

        Raises:
            StoreError: the database cannot be used; the message names it and the cause.
        """
        if url is None and not requires_key:
            return cls(requires_key, clock, None, None)
        database = Database.open(url or DEFAULT_URL)
        keys = _KeyCache(KeyStore(database), clock.monotonic)
        return cls(requires_key, clock, database, keys)

    def close(self) -> None:
        if self.database is not None:
            self.database.close()

    def identify(self, presented: str | None) -> Caller:
        """Return the caller who presents this key. An empty key counts as none.

        Raises:
            MissingKey: no key was presented, and one is required.
            UnknownKey: the key is not valid, whether or not one is required.
            StoreError: the database cannot be used.
        """
        if self._keys is None:
            return ANONYMOUS
        if not presented:
            if self.requires_key:
                raise MissingKey
            return ANONYMOUS
        parts = parse_key(presented)
        if parts is None:
            raise UnknownKey
        return caller_from_key(self._verify(parts, self._keys))

    def owner(self, key_id: str | None) -> tuple[Caller, bytes]:
        """Return the caller with a key that was presented before, and what the server signs with for it.

        Raises:
            MissingKey: there was no key, and one is required.
            UnknownKey: the key is not valid any more.
            StoreError: the database cannot be used.
        """
        if key_id is None:
            if self.requires_key:
                raise MissingKey
            return ANONYMOUS, b""
        key = None if self._keys is None else self._keys.find(key_id)
        if key is None or not key.is_valid_at(self.clock.now()):
            raise UnknownKey
        return caller_from_key(key), key.secret_sha256

    def has_cached(self, presented: str | None) -> bool:
        """Return whether `identify` needs no database now, and in the next second, for this key."""
        if self._keys is None or not presented:
            return True
        parts = parse_key(presented)
        return parts is None or self._keys.has(parts.id, within_s=1.0)

    def _verify(self, presented: ParsedKey, keys: "_KeyCache") -> Key:
        key = keys.find(presented.id)
        if not is_secret_of(presented, key) or key is None:
            raise UnknownKey
        # Checked after the secret, so that timing reveals the key's state only to its holder. The error does
        # not give the reason; the log does.
        if not key.is_valid_at(self.clock.now()):
            logger.info(
                "key %s was rejected: it %s", key.id, "was revoked" if key.revoked_at else "has expired"
            )
            raise UnknownKey
        return key

    def charge(self, caller: Caller, characters: int, *, documents: int = 0) -> Charge:
        """Count a request with its characters and documents; count nothing for a caller without a key.

        Returns the charge, for `refund` if the work fails.

        Raises:
            ValueError: a number is negative.
            QuotaExceeded: the charge would exceed the month's limit; nothing is counted.
            StoreError: the database cannot be used; nothing is counted.
        """
        if characters < 0 or documents < 0:
            raise ValueError(f"{characters} characters and {documents} documents cannot be charged")
        charge = Charge(caller.key_id, self._month(), characters, documents)
        if caller.key_id is not None:
            self._usage_store().charge(charge, caller.limits.characters_per_month)
        return charge

    def refund(self, charge: Charge) -> None:
        """Refund a charge for work that failed, once. The request stays counted.

        Raises:
            StoreError: the database cannot be used, or less than this is counted, as after a second refund.
        """
        if charge.key_id is not None:
            self._usage_store().refund(charge)

    def usage(self, caller: Caller) -> Usage:
        """Return the usage of this month, UTC; zero without a key. `caller.limits` has the limit."""
        if caller.key_id is None:
            return Usage(self._month())
        return self._usage_store().get_month(caller.key_id, self._month())

    def _month(self) -> str:
        return month_of(self.clock.now())

    def _usage_store(self) -> UsageStore:
        if self.database is None:
            raise NoDatabase("none", "quotas need a database; the server's operator must set database_url")
        return UsageStore(self.database)


@dataclass(slots=True)
class _KeyCache:
    """A cache of keys from the database. It omits unknown ids, of which there is no end."""

    store: KeyStore
    monotonic: Callable[[], float]
    _cached: dict[str, tuple[float, Key]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def has(self, key_id: str, within_s: float) -> bool:
        """Return whether a key is cached now and for as many seconds."""
        with self._lock:
            cached_at_s, key = self._cached.get(key_id, (0.0, None))
        return key is not None and self.monotonic() + within_s - cached_at_s < KEY_TTL_S

    def find(self, key_id: str) -> Key | None:
        lookup_started_s = (
            self.monotonic()
        )  # before the lookup, so that its result is never older than recorded
        with self._lock:
            cached_at_s, key = self._cached.get(key_id, (0.0, None))
        if key is not None and lookup_started_s - cached_at_s < KEY_TTL_S:
            return key
        key = self.store.find(key_id)
        with self._lock:
            if key is None:
                self._cached.pop(key_id, None)
            else:
                self._cached[key_id] = (lookup_started_s, key)
        return key
