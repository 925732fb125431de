"""Memories in databases of both kinds, of one key and of another."""

import pytest

from dragoman.types import Pair
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.memories.pairs import SegmentPair
from service.memories.store import Memory, MemoryStore
from tests.service.accounts.conftest import database, new_key, url

__all__ = ["database", "url"]

DE_EN = Pair("de", "en")
GREETINGS = (SegmentPair("Guten Morgen.", "Good morning."), SegmentPair("Gute Nacht.", "Good night."))


@pytest.fixture
def store(database: Database) -> MemoryStore:
    return MemoryStore(database)


@pytest.fixture
def owner(database: Database) -> str:
    return new_owner(database)


@pytest.fixture
def memory(store: MemoryStore, owner: str) -> Memory:
    return store.add(owner, "greetings", DE_EN, GREETINGS)


def new_owner(database: Database) -> str:
    return new_key(KeyStore(database)).key.id
