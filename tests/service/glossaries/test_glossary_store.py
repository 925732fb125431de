"""Glossaries and whose they are."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from dragoman.terms import Term
from dragoman.types import Pair
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.glossaries.entries import Dictionary
from service.glossaries.errors import GlossaryInvalid, TooManyGlossaries, UnknownDictionary, UnknownGlossary
from service.glossaries.store import DictionaryInfo, Glossary, GlossaryLimits, GlossaryStore
from tests.service.accounts.conftest import NOON, database, keys, new_key, url

__all__ = ["database", "keys", "url"]

GERMAN, FRENCH = Pair("de", "en"), Pair("fr", "en")
HATS = Dictionary(GERMAN, (Term("Hut", ("hat", "cap")), Term("Ärmel", ("sleeve",)), Term("Dragoman")))
CHAPEAUX = Dictionary(FRENCH, (Term("chapeau", ("hat",)),))


@pytest.fixture
def store(database: Database) -> GlossaryStore:
    return GlossaryStore(database)


@pytest.fixture
def owner(keys: KeyStore) -> str:
    return new_key(keys).key.id


@pytest.fixture
def stranger(keys: KeyStore) -> str:
    return new_key(keys).key.id


def add(store: GlossaryStore, owner: str | None, *dictionaries: Dictionary) -> Glossary:
    return store.add(owner, "Hats\u00a0& more", dictionaries or (HATS,), NOON)


def test_a_glossary_is_read_as_it_was_sent(store: GlossaryStore, owner: str) -> None:
    made = add(store, owner, HATS, CHAPEAUX)
    assert str(uuid.UUID(made.id)) == made.id
    assert (made.name, made.created_at) == ("Hats\u00a0& more", NOON)
    assert made.dictionaries == (DictionaryInfo(GERMAN, 3), DictionaryInfo(FRENCH, 1))
    assert store.get(owner, made.id) == made
    assert store.list(owner) == [made]
    assert store.read_dictionaries(owner, made.id) == (HATS, CHAPEAUX)
    assert store.read_dictionary(owner, made.id, FRENCH) == CHAPEAUX


def test_the_only_pair_need_not_be_named(store: GlossaryStore, owner: str) -> None:
    assert store.read_dictionary(owner, add(store, owner).id, None) == HATS
    several = add(store, owner, HATS, CHAPEAUX)
    with pytest.raises(UnknownDictionary, match="it has de -> en, fr -> en"):
        store.read_dictionary(owner, several.id, None)


@pytest.mark.parametrize("is_keyless", [False, True])
def test_a_glossary_is_visible_to_its_owner_only(
    store: GlossaryStore, owner: str, stranger: str, *, is_keyless: bool
) -> None:
    whose, other = (None, owner) if is_keyless else (owner, None)
    made = add(store, whose)
    for another in (other, stranger):
        assert store.list(another) == []
        for ask in operations(store, another):
            with pytest.raises(UnknownGlossary) as refused:
                ask(made.id)
            assert made.id in str(refused.value)
    assert store.get(whose, made.id) == made
    assert store.read_dictionaries(whose, made.id) == (HATS,)


def operations(store: GlossaryStore, owner: str | None) -> list[Callable[[str], object]]:
    """All that can be done with a glossary."""
    return [
        lambda of: store.get(owner, of),
        lambda of: store.read_dictionaries(owner, of),
        lambda of: store.read_dictionary(owner, of, GERMAN),
        lambda of: store.replace(owner, of, "other", [CHAPEAUX]),
        lambda of: store.merge(owner, of, "other", []),
        lambda of: store.put_dictionary(owner, of, CHAPEAUX),
        lambda of: store.remove_dictionary(owner, of, GERMAN),
        lambda of: store.delete(owner, of),
    ]


@pytest.mark.parametrize("glossary_id", ["", "x" * 1000, "a\x00b", "\ud800", "' OR 1=1 --", "é"])
def test_any_text_as_an_id_is_an_unknown_glossary(store: GlossaryStore, owner: str, glossary_id: str) -> None:
    add(store, owner)
    for ask in operations(store, owner):
        with pytest.raises(UnknownGlossary) as refused:
            ask(glossary_id)
        assert len(str(refused.value)) < 200


def test_every_change_gives_a_new_version(store: GlossaryStore, owner: str) -> None:
    made = add(store, owner)
    renamed = store.merge(owner, made.id, "Caps", [])
    assert (renamed.name, renamed.version) == ("Caps", made.version + 1)
    assert store.read_dictionaries(owner, made.id) == (HATS,)
    added = store.put_dictionary(owner, made.id, CHAPEAUX)
    assert (added.name, added.version) == ("Caps", made.version + 2)
    assert store.read_dictionaries(owner, made.id) == (HATS, CHAPEAUX)
    without = store.remove_dictionary(owner, made.id, GERMAN)
    assert without.version == made.version + 3
    assert store.read_dictionaries(owner, made.id) == (CHAPEAUX,)
    replaced = store.replace(owner, made.id, "Hats", [HATS])
    assert (replaced.name, replaced.version) == ("Hats", made.version + 4)
    assert store.read_dictionaries(owner, made.id) == (HATS,)


def test_merged_entries_replace_those_of_equal_source_terms(store: GlossaryStore, owner: str) -> None:
    made = add(store, owner)
    new = Dictionary(GERMAN, (Term("Hut", ("bonnet",)), Term("Rad", ("wheel",))))
    assert store.merge(owner, made.id, None, [new]).name == made.name
    [merged] = store.read_dictionaries(owner, made.id)
    assert [term.source for term in merged.terms] == ["Hut", "Ärmel", "Dragoman", "Rad"]
    assert merged.terms[0].targets == ("bonnet",)


@pytest.mark.parametrize("name", [" ", "é" * 513, "a\x00b", "\ud800"])
def test_an_invalid_name_is_rejected(store: GlossaryStore, owner: str, name: str) -> None:
    made = add(store, owner)
    asks: list[Callable[[], object]] = [
        lambda: store.add(owner, name, [HATS], NOON),
        lambda: store.replace(owner, made.id, name, [HATS]),
    ]
    for ask in asks:
        with pytest.raises(GlossaryInvalid) as refused:
            ask()
        assert refused.value.field == "name"
    assert store.list(owner) == [made]


def test_more_entries_than_the_limit_are_rejected_and_nothing_is_changed(
    store: GlossaryStore, owner: str
) -> None:
    small = replace(store, limits=GlossaryLimits(max_entries=3))
    made = add(small, owner)
    with pytest.raises(GlossaryInvalid, match="4 entries exceed the limit of 3"):
        small.put_dictionary(owner, made.id, CHAPEAUX)
    assert small.list(owner) == [made]
    assert small.read_dictionaries(owner, made.id) == (HATS,)


def test_the_bytes_of_all_glossaries_of_a_key_are_limited(
    store: GlossaryStore, owner: str, stranger: str
) -> None:
    small = replace(store, limits=GlossaryLimits(max_bytes=100))
    made = add(small, owner)
    with pytest.raises(GlossaryInvalid, match="limit of 100 bytes; delete some"):
        add(small, owner)
    assert small.list(owner) == [made]
    add(small, stranger)


def test_concurrent_requests_cannot_exceed_the_number_of_glossaries(
    store: GlossaryStore, owner: str, stranger: str
) -> None:
    small = replace(store, limits=GlossaryLimits(max_glossaries=3))

    def try_to_add(_: int) -> bool:
        try:
            add(small, owner)
        except TooManyGlossaries:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(try_to_add, range(12))) == 3
    with pytest.raises(TooManyGlossaries, match="limit of 3 glossaries"):
        add(small, owner)
    add(small, stranger)
    small.delete(owner, small.list(owner)[0].id)
    add(small, owner)
