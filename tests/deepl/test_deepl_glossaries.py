"""Glossaries: made, listed, read and deleted; no translation uses them."""

import json
from datetime import UTC, datetime, timedelta

import deepl
import httpx
import pytest

from service.accounts.keys import Scope
from tests.deepl.conftest import ClientOf, Keys, error_of

Auth = dict[str, str]
ENTRIES = {"Hund": "dog", 'Katze "Mia"': "cat, Mia"}
NEW = {"name": "a", "source_lang": "de", "target_lang": "en", "entries": "a\tb", "entries_format": "tsv"}


@pytest.fixture
def client(client_of: ClientOf, keys: Keys) -> deepl.DeepLClient:
    """Of a key with no glossaries yet."""
    return client_of(keys.make())


def test_a_glossary_is_kept_until_it_is_deleted(client: deepl.DeepLClient) -> None:
    made = client.create_glossary("Tiere", "DE", "EN-GB", ENTRIES)
    assert (made.name, made.ready, made.source_lang, made.target_lang) == ("Tiere", True, "DE", "EN")
    assert made.entry_count == 2
    assert abs(datetime.now(UTC) - made.creation_time) < timedelta(hours=1)
    assert client.get_glossary_entries(made) == ENTRIES
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert [each.glossary_id for each in client.list_glossaries()] == [made.glossary_id]
    client.delete_glossary(made)
    assert client.list_glossaries() == []


def test_a_glossary_comes_in_csv_as_well(client: deepl.DeepLClient) -> None:
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


def test_a_term_that_comes_twice_is_refused_with_its_line(http: httpx.Client, auth: Auth) -> None:
    response = http.post("/v2/glossaries", json=NEW | {"entries": "a\tb\na\tc"}, headers=auth)
    status, message = error_of(response)
    assert (status, message) == (400, "entries: " + response.json()["detail"])
    assert "line 2 has the source term of line 1" in message


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


def test_pairs_are_those_that_are_translated(client: deepl.DeepLClient, many: httpx.Client) -> None:
    assert [(each.source_lang, each.target_lang) for each in client.get_glossary_languages()] == [
        ("de", "en")
    ]
    listed = many.get("/v2/glossary-language-pairs").json()["supported_languages"]
    pairs = {(each["source_lang"], each["target_lang"]) for each in listed}
    assert {("de", "en"), ("en", "pt"), ("de", "zh")} <= pairs
    assert ("fr", "en") not in pairs


def test_a_translation_that_names_a_glossary_is_refused(client: deepl.DeepLClient) -> None:
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
    status, message = error_of(many.post("/v2/glossaries", json=NEW))
    assert status == 400
    assert "database_url" in message
