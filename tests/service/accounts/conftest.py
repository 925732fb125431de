"""Databases of both kinds, a clock that tests move, and accounts on them."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest

from service.accounts.accounts import Accounts, Clock
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyOptions, NewKey

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


@dataclass
class Times:
    """What the time is, as tests set it."""

    now: datetime = NOON
    monotonic_s: float = 1000.0

    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: self.monotonic_s)


@pytest.fixture
def url(any_url: str) -> str:
    return any_url


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database.open(url)
    yield opened
    opened.close()


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def accounts(url: str, times: Times) -> Iterator[Accounts]:
    """Of a server that requires keys."""
    with open_accounts(url, times, requires_key=True) as opened:
        yield opened


def open_accounts(url: str, times: Times, *, requires_key: bool) -> closing[Accounts]:
    return closing(Accounts.open(url, requires_key=requires_key, clock=times.clock()))


@pytest.fixture
def keys(database: Database) -> KeyStore:
    return KeyStore(database)


def new_key(keys: KeyStore, options: KeyOptions | None = None) -> NewKey:
    return keys.create(options or KeyOptions("tests"), NOON)
