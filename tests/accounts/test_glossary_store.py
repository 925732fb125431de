"""Glossaries and whose they are."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from service.accounts import glossaries
from service.accounts.accounts import Accounts
from service.accounts.errors import GlossaryInvalid, TooManyGlossaries, UnknownGlossary
from service.accounts.glossaries import EntriesFormat, NewGlossary
from service.accounts.key_store import KeyStore
from service.accounts.keys import ANONYMOUS, Caller
from tests.accounts.conftest import NOON, new_key

HATS = NewGlossary("Hats\u00a0& more", "de", "en-GB", "Hut\that\nÄrmel\tsleeve\n")


@pytest.fixture
def caller(accounts: Accounts, keys: KeyStore) -> Caller:
    return accounts.identify(new_key(keys).presented)


@pytest.fixture
def stranger(accounts: Accounts, keys: KeyStore) -> Caller:
    return accounts.identify(new_key(keys).presented)


def test_a_glossary_is_read_as_it_was_sent(accounts: Accounts, caller: Caller) -> None:
    made = accounts.add_glossary(caller, HATS)
    assert str(uuid.UUID(made.id)) == made.id
    assert (made.name, made.source, made.target) == ("Hats\u00a0& more", "de", "en-GB")
    assert (made.entry_count, made.created_at) == (2, NOON)
    assert accounts.get_glossary(caller, made.id) == made
    assert accounts.list_glossaries(caller) == [made]
    assert accounts.glossary_entries(caller, made.id) == {"Hut": "hat", "Ärmel": "sleeve"}
    assert accounts.glossary_tsv(caller, made.id) == "Hut\that\nÄrmel\tsleeve\n"


def test_entries_sent_as_csv_are_returned_as_tsv(accounts: Accounts, caller: Caller) -> None:
    new = replace(HATS, entries='"Hut, rot",red hat\n', format=EntriesFormat.CSV)
    assert accounts.glossary_tsv(caller, accounts.add_glossary(caller, new).id) == "Hut, rot\tred hat\n"


@pytest.mark.parametrize("whose", ["key", "anyone"])
def test_a_glossary_is_visible_to_its_owner_only(
    accounts: Accounts, caller: Caller, stranger: Caller, whose: str
) -> None:
    owner, other = (caller, ANONYMOUS) if whose == "key" else (ANONYMOUS, caller)
    made = accounts.add_glossary(owner, HATS)
    for another in (other, stranger):
        assert accounts.list_glossaries(another) == []
        for ask in (
            accounts.get_glossary,
            accounts.glossary_entries,
            accounts.glossary_tsv,
            accounts.delete_glossary,
        ):
            with pytest.raises(UnknownGlossary) as refused:
                ask(another, made.id)
            assert made.id in str(refused.value)
    assert accounts.get_glossary(owner, made.id) == made


def test_a_deleted_glossary_is_gone(accounts: Accounts, caller: Caller) -> None:
    kept, made = (accounts.add_glossary(caller, HATS) for _ in range(2))
    accounts.delete_glossary(caller, made.id)
    assert accounts.list_glossaries(caller) == [kept]
    with pytest.raises(UnknownGlossary):
        accounts.delete_glossary(caller, made.id)


@pytest.mark.parametrize("glossary_id", ["", "x" * 1000, "a\x00b", "\ud800", "' OR 1=1 --", "é"])
def test_any_text_as_an_id_is_an_unknown_glossary(
    accounts: Accounts, caller: Caller, glossary_id: str
) -> None:
    accounts.add_glossary(caller, HATS)
    for ask in (accounts.get_glossary, accounts.glossary_tsv, accounts.delete_glossary):
        with pytest.raises(UnknownGlossary) as refused:
            ask(caller, glossary_id)
        assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("new", "field"),
    [
        (replace(HATS, name=" "), "name"),
        (replace(HATS, name="é" * 513), "name"),
        (replace(HATS, name="a\x00b"), "name"),
        (replace(HATS, name="\ud800"), "name"),
        (replace(HATS, source=""), "source"),
        (replace(HATS, target="en GB"), "target"),
        (replace(HATS, target="x" * 65), "target"),
        (replace(HATS, entries="Hut"), "entries"),
    ],
)
def test_an_invalid_glossary_is_rejected_by_field(
    accounts: Accounts, caller: Caller, new: NewGlossary, field: str
) -> None:
    with pytest.raises(GlossaryInvalid) as refused:
        accounts.add_glossary(caller, new)
    assert refused.value.field == field
    assert accounts.list_glossaries(caller) == []


def test_deepls_number_of_glossaries_is_the_limit() -> None:
    assert glossaries.MAX_GLOSSARIES == 1000


def test_concurrent_requests_cannot_exceed_the_number_of_glossaries(
    accounts: Accounts, caller: Caller, stranger: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(glossaries, "MAX_GLOSSARIES", 3)

    def add(_: int) -> bool:
        try:
            accounts.add_glossary(caller, HATS)
        except TooManyGlossaries:
            return False
        return True

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(add, range(12))) == 3
    with pytest.raises(TooManyGlossaries, match="limit of 3 glossaries"):
        accounts.add_glossary(caller, HATS)
    accounts.add_glossary(stranger, HATS)
    accounts.delete_glossary(caller, accounts.list_glossaries(caller)[0].id)
    accounts.add_glossary(caller, HATS)
