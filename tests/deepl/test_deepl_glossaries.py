"""Glossaries: refused, or else stored as their operator wants it; no translation uses them."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import deepl
import httpx
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries

from dragoman.bundle import open_bundle
from service.accounts.keys import Scope
from tests.deepl.conftest import ClientOf, Keys, error_of
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator

Auth = dict[str, str]
ENTRIES = {"Hund": "dog", 'Katze "Mia"': "cat, Mia"}
NEW = {"name": "a", "source_lang": "de", "target_lang": "en", "entries": "a\tb", "entries_format": "tsv"}


@pytest.fixture
def client(client_of: ClientOf, keys: Keys) -> deepl.DeepLClient:
    """Of a key with no glossaries yet."""
    return client_of(keys.make())


def test_a_glossary_is_kept_until_it_is_deleted(client: deepl.DeepLClient) -> None:
    made = client.create_glossary("Tiere", "DE", "EN-GB", ENTRIES)
    assert (made.name, made.source_lang, made.target_lang) == ("Tiere", "DE", "EN")
    assert not made.ready  # for translations: none uses it
    assert made.entry_count == 2
    assert abs(datetime.now(UTC) - made.creation_time) < timedelta(hours=1)
    assert client.get_glossary_entries(made) == ENTRIES
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert [each.glossary_id for each in client.list_glossaries()] == [made.glossary_id]
    client.delete_glossary(made)
    assert client.list_glossaries() == []


def test_a_glossary_can_be_sent_as_csv(client: deepl.DeepLClient) -> None:
    made = client.create_glossary_from_csv("Tiere", "DE", "EN", 'Hund,"dog, big",de,en\n')
    assert client.get_glossary_entries(made) == {"Hund": "dog, big"}


def test_a_glossary_that_is_not_there_is_not_found(
    client: deepl.DeepLClient, client_of: ClientOf, key: str
) -> None:
    another = client_of(key).create_glossary("Tiere", "DE", "EN", ENTRIES)
    for glossary_id in (another.glossary_id, "none", "%00", "a%2Fb"):
        for ask in (client.get_glossary, client.get_glossary_entries, client.delete_glossary):
            with pytest.raises(deepl.GlossaryNotFoundException):
                ask(glossary_id)


def test_a_repeated_term_is_rejected_with_its_line(http: httpx.Client, auth: Auth) -> None:
    response = http.post("/v2/glossaries", json=NEW | {"entries": "a\tb\na\tc"}, headers=auth)
    status, message = error_of(response)
    assert (status, message) == (400, "entries: " + response.json()["detail"])
    assert "line 2 repeats the source term of line 1" in message


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"name": None}, "name"),
        ({"name": ""}, "name"),
        ({"entries": ""}, "entries"),
        ({"entries": ["a"]}, "entries"),
        ({"entries": "a\tb\ud800"}, "entries"),
        ({"entries_format": "xml"}, "entries_format"),
        ({"source_lang": "xx"}, "target_lang"),
        ({"target_lang": "de"}, "target_lang"),
        ({"source_lang": "\ud800"}, "source_lang"),
    ],
)
def test_what_cannot_be_kept_is_refused(
    http: httpx.Client, auth: Auth, fields: dict[str, object], named: str
) -> None:
    body = json.dumps({**NEW, **fields})
    response = http.post("/v2/glossaries", content=body, headers=auth | {"Content-Type": "application/json"})
    status, message = error_of(response)
    assert status == 400
    assert message.startswith(f"{named}: ")


def test_entries_are_given_as_tsv_alone(http: httpx.Client, auth: Auth) -> None:
    made = http.post("/v2/glossaries", data=NEW, headers=auth)
    assert made.status_code == 201
    path = f"/v2/glossaries/{made.json()['glossary_id']}/entries"
    for accepted in ("text/tab-separated-values", "*/*", "text/html, text/tab-separated-values;q=0.5"):
        response = http.get(path, headers=auth | {"Accept": accepted})
        assert response.headers["content-type"].startswith("text/tab-separated-values")
        assert response.text == "a\tb\n"
    assert error_of(http.get(path, headers=auth | {"Accept": "application/json"}))[0] == 415


def test_deleting_answers_nothing(http: httpx.Client, auth: Auth) -> None:
    made = http.post("/v2/glossaries", data=NEW, headers=auth).json()
    response = http.delete(f"/v2/glossaries/{made['glossary_id']}", headers=auth)
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["x-trace-id"]


def test_pairs_are_those_that_are_translated_where_glossaries_are_stored(
    client: deepl.DeepLClient, many: httpx.Client
) -> None:
    assert [(each.source_lang, each.target_lang) for each in client.get_glossary_languages()] == [
        ("de", "en")
    ]
    listed = many.get("/v2/glossary-language-pairs").json()["supported_languages"]
    assert listed == []  # this server refuses glossaries


def test_a_translation_with_a_glossary_is_rejected(client: deepl.DeepLClient) -> None:
    made = client.create_glossary("Tiere", "DE", "EN", ENTRIES)
    with pytest.raises(deepl.DeepLException, match=r"glossary_id: .*not used in translations"):
        client.translate_text("Hund", source_lang="DE", target_lang="EN-GB", glossary=made)


def test_a_key_must_be_for_glossaries(client_of: ClientOf, keys: Keys) -> None:
    client = client_of(keys.make(scopes=frozenset({Scope.DOCUMENTS})))
    with pytest.raises(deepl.AuthorizationException, match="glossaries"):
        client.list_glossaries()
    assert client.get_glossary_languages()


def test_a_server_without_a_database_has_none_and_says_so(many: httpx.Client) -> None:
    assert many.get("/v2/glossaries").json() == {"glossaries": []}
    assert error_of(many.get("/v2/glossaries/x"))[0] == 404


@contextmanager
def served(bundle: Path, **settings: Any) -> Iterator[httpx.Client]:
    """A server with an engine of its own, which it closes."""
    with (
        router_of(DoubleTranslator(open_bundle(bundle).manifest), bundle) as router,
        ready_client(router, **settings) as client,
    ):
        yield client


@pytest.fixture
def refusing(bundle: Path, keys: Keys) -> Iterator[httpx.Client]:
    """A client of a server with a database and the setting's default."""
    with served(bundle, database_url=keys.url, requires_key=True) as client:
        yield client


def test_a_glossary_that_no_translation_would_use_is_rejected(
    refusing: httpx.Client, http: httpx.Client, auth: Auth, key: str
) -> None:
    """Weblate looks at the pairs, and sends no glossaries where there are none."""
    made = http.post("/v2/glossaries", json=NEW, headers=auth).json()
    client = deepl.DeepLClient(key, server_url=str(refusing.base_url))
    with pytest.raises(deepl.DeepLException, match=r"Glossaries are not supported\..*glossaries = stored"):
        client.create_glossary("Tiere", "DE", "EN", ENTRIES)
    assert client.get_glossary_languages() == []
    # What was stored before is not lost.
    assert client.get_glossary_entries(made["glossary_id"]) == {"a": "b"}
    assert not client.get_glossary(made["glossary_id"]).ready
    client.delete_glossary(made["glossary_id"])
    client.close()  # type: ignore[no-untyped-call]


def test_glossaries_cannot_be_stored_without_a_database(bundle: Path) -> None:
    with served(bundle, glossaries="stored") as client:
        status, message = error_of(client.post("/v2/glossaries", json=NEW))
    assert status == 400
    assert "database_url" in message


DICTIONARY = MultilingualGlossaryDictionaryEntries("DE", "EN", ENTRIES)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda client: client.create_multilingual_glossary("a", [DICTIONARY]), "ultilingual glossaries"),
        (lambda client: client.list_multilingual_glossaries(), "ultilingual glossaries"),
        (lambda client: client.get_multilingual_glossary("x"), "ultilingual glossaries"),
        (lambda client: client.update_multilingual_glossary_name("x", "b"), "ultilingual glossaries"),
        (
            lambda client: client.replace_multilingual_glossary_dictionary("x", DICTIONARY),
            "ultilingual glossaries",
        ),
        (
            lambda client: client.get_multilingual_glossary_entries("x", "DE", "EN"),
            "ultilingual glossaries",
        ),
        (lambda client: client.delete_multilingual_glossary("x"), "ultilingual glossaries"),
        (lambda client: client.get_all_style_rules(), "tyle rules"),
        (lambda client: client.list_translation_memories(), "ranslation memories"),
        (lambda client: client.rephrase_text("Hallo"), "write/rephrase"),
        (lambda client: client.correct_text("Hallo"), "write/correct"),
    ],
)
def test_what_is_not_served_at_all_is_said_to_be_so(
    client: deepl.DeepLClient, ask: Callable[[deepl.DeepLClient], object], words: str
) -> None:
    with pytest.raises(deepl.DeepLException, match=f"{words}.*not supported") as refused:
        ask(client)
    assert refused.value.http_status_code == 400
    assert not refused.value.should_retry


def test_what_is_not_served_wants_a_key_as_all_else_does(http: httpx.Client) -> None:
    for method, path in (("GET", "/v3/glossaries"), ("PATCH", "/v3/x"), ("POST", "/v2/write/rephrase")):
        assert error_of(http.request(method, path))[0] == 403
