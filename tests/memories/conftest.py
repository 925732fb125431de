"""Memories in databases of both kinds, of one key and of another."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from dragoman.types import Pair
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyOptions
from service.memories.pairs import SegmentPair
from service.memories.store import Memory, MemoryStore

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
DE_EN = Pair("de", "en")
GREETINGS = (SegmentPair("Guten Morgen.", "Good morning."), SegmentPair("Gute Nacht.", "Good night."))


@pytest.fixture
def database(any_url: str) -> Iterator[Database]:
    opened = Database.open(any_url)
    yield opened
    opened.close()


@pytest.fixture
def store(database: Database) -> MemoryStore:
    return MemoryStore(database)


@pytest.fixture
def owner(database: Database) -> str:
    return new_owner(database)


@pytest.fixture
def memory(store: MemoryStore, owner: str) -> Memory:
    return store.add(owner, "greetings", DE_EN, GREETINGS, NOON)


def new_owner(database: Database) -> str:
    return KeyStore(database).create(KeyOptions("someone"), NOON).key.id
