"""Glossaries of one language pair (version 2) and of several (version 3), and translations that use them."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import deepl
import httpx
import pytest
from deepl.api_data import MultilingualGlossaryDictionaryEntries, MultilingualGlossaryInfo

from dragoman.terms import Term
from tests.engine.routing.doubles import until
from tests.service.deepl.conftest import ClientOf, auth_of, error_of, upload
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

Auth = dict[str, str]
ENTRIES = {"Hund": "dog", 'Katze "Mia"': "cat, Mia"}
ENTRY = {"source_lang": "de", "target_lang": "en", "entries": "a\tb", "entries_format": "tsv"}
NEW = {"name": "a", **ENTRY}
PAIR = {"source_lang": "de", "target_lang": "en"}


@pytest.fixture
def client(client_of: ClientOf, keys: Keys) -> deepl.DeepLClient:
    """Of a key with no glossaries yet."""
    return client_of(keys.make())


def test_a_glossary_is_kept_until_it_is_deleted(client: deepl.DeepLClient) -> None:
    made = client.create_glossary("Tiere", "DE", "EN-GB", ENTRIES)
    assert (made.name, made.source_lang, made.target_lang) == ("Tiere", "DE", "EN")
    assert made.ready  # for translations
    assert made.entry_count == 2
    assert abs(datetime.now(UTC) - made.creation_time) < timedelta(hours=1)
    assert client.get_glossary_entries(made) == ENTRIES
    assert client.get_glossary(made.glossary_id).creation_time == made.creation_time
    assert [each.glossary_id for each in client.list_glossaries()] == [made.glossary_id]
    client.delete_glossary(made)
    assert client.list_glossaries() == []


def test_an_unknown_glossary_is_not_found(client: deepl.DeepLClient, client_of: ClientOf, key: str) -> None:
    another = client_of(key).create_glossary("Tiere", "DE", "EN", ENTRIES)
    for glossary_id in (another.glossary_id, str(UUID(int=0)), str(uuid4()), str(uuid4()).upper()):
        for ask in (client.get_glossary, client.get_glossary_entries, client.delete_glossary):
            with pytest.raises(deepl.GlossaryNotFoundException):
                ask(glossary_id)


ROUTES_OF_ONE: Sequence[tuple[str, str, Mapping[str, Any]]] = (
    ("GET", "/v2/glossaries/{}", {}),
    ("GET", "/v2/glossaries/{}/entries", {}),
    ("DELETE", "/v2/glossaries/{}", {}),
    ("GET", "/v3/glossaries/{}", {}),
    ("GET", "/v3/glossaries/{}/entries", {"params": PAIR}),
    ("DELETE", "/v3/glossaries/{}", {}),
    ("PATCH", "/v3/glossaries/{}", {"json": {"name": "a"}}),
    ("PUT", "/v3/glossaries/{}/dictionaries", {"json": ENTRY}),
    ("DELETE", "/v3/glossaries/{}/dictionaries", {"params": PAIR}),
)


@pytest.mark.parametrize("glossary_id", ["invalid-uuid", "invalid_glossary_id", "none", "%00", "0" * 31])
@pytest.mark.parametrize(("method", "path", "sent"), ROUTES_OF_ONE)
def test_a_malformed_id_is_no_unknown_one(
    http: httpx.Client, auth: Auth, method: str, path: str, sent: Mapping[str, Any], glossary_id: str
) -> None:
    """Programs tell a wrong id from that of a glossary that was deleted meanwhile."""

    def status_of(one: str) -> int:
        return http.request(method, path.format(one), headers=auth, **sent).status_code

    assert (status_of(glossary_id), status_of(str(uuid4()))) == (400, 404)


@pytest.mark.parametrize(
    ("version", "fields", "named"),
    [
        ("v2", {"name": None}, "name"),
        ("v2", {"name": ""}, "name"),
        ("v2", {"entries": ""}, "entries"),
        ("v2", {"entries": ["a"]}, "entries"),
        ("v2", {"entries": "a\tb\ud800"}, "entries"),
        ("v2", {"entries_format": "xml"}, "entries_format"),
        ("v2", {"source_lang": "xx"}, "target_lang"),
        ("v2", {"target_lang": "de"}, "target_lang"),
        ("v2", {"source_lang": "\ud800"}, "source_lang"),
        ("v3", {"name": None}, "name"),
        ("v3", {"dictionaries": None}, "dictionaries"),
        ("v3", {"dictionaries": ["x"]}, "dictionaries[0]"),
        ("v3", {"dictionaries": [ENTRY, ENTRY]}, "dictionaries[1]"),
        ("v3", {"dictionaries": [ENTRY | {"entries": "a"}]}, "dictionaries[0].entries"),
        ("v3", {"dictionaries": [ENTRY | {"entries_format": "x"}]}, "dictionaries[0].entries_format"),
        ("v3", {"dictionaries": [ENTRY | {"source_lang": "fr"}]}, "dictionaries[0].target_lang"),
    ],
)
def test_an_invalid_glossary_is_rejected_by_its_field(
    http: httpx.Client, auth: Auth, version: str, fields: dict[str, object], named: str
) -> None:
    usual = NEW if version == "v2" else {"name": "a", "dictionaries": [ENTRY]}
    headers = auth | {"Content-Type": "application/json"}
    content = json.dumps({**usual, **fields})
    status, message = error_of(http.post(f"/{version}/glossaries", content=content, headers=headers))
    assert status == 400
    assert message.startswith(f"{named}: ")


def test_entries_are_given_as_tsv_alone(http: httpx.Client, auth: Auth) -> None:
    made = http.post("/v2/glossaries", data=NEW, headers=auth)
    assert made.status_code == 201
    path = f"/v2/glossaries/{made.json()['glossary_id']}/entries"
    for accepted in ("text/tab-separated-values", "*/*", "text/html, text/tab-separated-values;q=0.5"):
        response = http.get(path, headers=auth | {"Accept": accepted})
        assert response.headers["content-type"].startswith("text/tab-separated-values")
        assert response.text == "a\tb"
    assert error_of(http.get(path, headers=auth | {"Accept": "application/json"}))[0] == 415


def test_pairs_are_those_that_a_single_model_translates(
    client: deepl.DeepLClient, many: httpx.Client
) -> None:
    assert [(each.source_lang, each.target_lang) for each in client.get_glossary_languages()] == [
        ("de", "en")
    ]
    listed = many.get("/v2/glossary-language-pairs").json()["supported_languages"]
    # Others, such as de -> fr, go through English.
    pairs = [f"{each['source_lang']}-{each['target_lang']}" for each in listed]
    assert pairs == ["de-en", "en-fr", "en-pt", "en-zh", "pt-en"]


def test_a_server_without_a_database_keeps_glossaries_for_all_callers(many: httpx.Client) -> None:
    made = many.post("/v2/glossaries", json=NEW)
    assert made.status_code == 201
    path = f"/v2/glossaries/{made.json()['glossary_id']}"
    assert many.get("/v2/glossaries").json() == {"glossaries": [made.json()]}
    assert many.get(path, headers={"Authorization": "DeepL-Auth-Key any"}).json() == made.json()
    assert many.delete(path).status_code == 204
    assert error_of(many.get(path))[0] == 404


DICTIONARY = MultilingualGlossaryDictionaryEntries("DE", "EN", ENTRIES)


def test_a_multilingual_glossary_is_kept_until_it_is_deleted(client: deepl.DeepLClient) -> None:
    made = client.create_multilingual_glossary("Tiere", [DICTIONARY])
    assert abs(datetime.now(UTC) - made.creation_time) < timedelta(hours=1)
    assert infos_of(made) == [("DE", "EN", 2)]
    found = client.get_multilingual_glossary(made.glossary_id)
    assert (found.name, found.creation_time) == ("Tiere", made.creation_time)
    assert [each.glossary_id for each in client.list_multilingual_glossaries()] == [made.glossary_id]
    assert entries_of(client, made) == ENTRIES
    client.delete_multilingual_glossary(made)
    assert client.list_multilingual_glossaries() == []
    with pytest.raises(deepl.GlossaryNotFoundException):
        client.get_multilingual_glossary(made.glossary_id)


def infos_of(glossary: MultilingualGlossaryInfo) -> list[tuple[str, str, int]]:
    return [(each.source_lang, each.target_lang, each.entry_count) for each in glossary.dictionaries]


def entries_of(
    client: deepl.DeepLClient, glossary: MultilingualGlossaryInfo, source: str = "DE"
) -> dict[str, str]:
    [dictionary] = client.get_multilingual_glossary_entries(glossary, source, "EN").dictionaries
    text: object = dictionary.entries  # the client gives the text as it is sent
    assert isinstance(text, str)
    return deepl.util.convert_tsv_to_dict(text)


def test_both_versions_have_the_same_glossaries(client: deepl.DeepLClient) -> None:
    made = client.create_glossary("Tiere", "DE", "EN", ENTRIES)
    assert infos_of(client.get_multilingual_glossary(made.glossary_id)) == [("DE", "EN", 2)]


def test_a_glossary_of_several_pairs_or_none_is_unknown_to_the_older_version(many: httpx.Client) -> None:
    dictionaries = [
        {"source_lang": source, "target_lang": target, "entries": "a,b", "entries_format": "csv"}
        for source, target in (("DE", "EN"), ("en", "pt-BR"))
    ]
    made = many.post("/v3/glossaries", json={"name": "a", "dictionaries": dictionaries}).json()
    assert [(each["source_lang"], each["target_lang"]) for each in made["dictionaries"]] == [
        ("de", "en"), ("en", "pt")
    ]  # fmt: skip
    glossary_id = made["glossary_id"]
    assert many.get("/v2/glossaries").json() == {"glossaries": []}
    for path in (f"/v2/glossaries/{glossary_id}", f"/v2/glossaries/{glossary_id}/entries"):
        assert error_of(many.get(path))[0] == 404
    assert error_of(many.delete(f"/v2/glossaries/{glossary_id}"))[0] == 404
    for source, target in (("DE", "EN"), ("EN", "PT")):
        pair = {"source_lang": source, "target_lang": target}
        assert many.delete(f"/v3/glossaries/{glossary_id}/dictionaries", params=pair).status_code == 204
    assert many.get(f"/v3/glossaries/{glossary_id}").json()["dictionaries"] == []
    assert error_of(many.get(f"/v2/glossaries/{glossary_id}"))[0] == 404
    assert many.delete(f"/v3/glossaries/{glossary_id}").status_code == 204


def test_a_name_and_entries_can_be_changed(client: deepl.DeepLClient) -> None:
    made = client.create_multilingual_glossary("Tiere", [DICTIONARY])
    assert client.update_multilingual_glossary_name(made, "Haustiere").name == "Haustiere"
    new = MultilingualGlossaryDictionaryEntries("DE", "EN-GB", {"Hund": "hound", "Maus": "mouse"})
    changed = client.update_multilingual_glossary_dictionary(made, new)
    assert (changed.name, infos_of(changed)) == ("Haustiere", [("DE", "EN", 3)])
    assert entries_of(client, made) == {**ENTRIES, "Hund": "hound", "Maus": "mouse"}
    replaced = client.replace_multilingual_glossary_dictionary(made, new)
    assert (replaced.source_lang, replaced.target_lang, replaced.entry_count) == ("DE", "EN", 2)
    assert entries_of(client, made) == new.entries
    client.delete_multilingual_glossary_dictionary(made, replaced)
    with pytest.raises(
        deepl.GlossaryNotFoundException, match="No dictionary found for language pair de -> en"
    ):
        entries_of(client, made)


def test_entries_can_be_sent_as_csv(client: deepl.DeepLClient) -> None:
    made = client.create_multilingual_glossary_from_csv("Tiere", "DE", "EN", "Hund,dog")
    client.update_multilingual_glossary_dictionary_from_csv(made, "DE", "EN", "Maus,mouse")
    assert entries_of(client, made) == {"Hund": "dog", "Maus": "mouse"}
    client.replace_multilingual_glossary_dictionary_from_csv(made, "DE", "EN", "Kuh,cow")
    assert entries_of(client, made) == {"Kuh": "cow"}


def test_a_change_must_change_something(http: httpx.Client, auth: Auth, client: deepl.DeepLClient) -> None:
    made = client.create_multilingual_glossary("Tiere", [DICTIONARY])
    status, message = error_of(http.patch(f"/v3/glossaries/{made.glossary_id}", json={}, headers=auth))
    assert (status, message[:6]) == (400, "name: ")


class Form:
    """The fields that DeepL's clients for Node.js, Java and .NET send for entries of a pair."""

    def __init__(self, headers: Auth, http: httpx.Client) -> None:
        self.headers, self.http = headers, http

    def dictionary(self, position: int, source: str, target: str, entries: str) -> dict[str, str]:
        values = {"source_lang": source, "target_lang": target, "entries": entries, "entries_format": "tsv"}
        return {f"dictionaries[{position}].{name}": value for name, value in values.items()}

    def send(self, method: str, path: str, fields: dict[str, str]) -> httpx.Response:
        return self.http.request(method, f"/v3/glossaries{path}", data=fields, headers=self.headers)


@pytest.fixture
def form(http: httpx.Client, keys: Keys) -> Form:
    """Of a key with no glossaries yet."""
    return Form(auth_of(keys.make()), http)


def test_forms_accept_what_json_accepts(form: Form) -> None:
    made = form.send("POST", "", {"name": "a", **form.dictionary(0, "de", "en", "Hund\tdog")})
    assert made.status_code == 201, made.text
    path = f"/{made.json()['glossary_id']}"
    changed = form.send("PATCH", path, form.dictionary(0, "de", "en", "Hund\thound\nKuh\tcow"))
    assert changed.status_code == 200
    assert changed.json()["dictionaries"] == [{"source_lang": "de", "target_lang": "en", "entry_count": 2}]
    assert form.send("PATCH", path, {"name": "b"}).json()["name"] == "b"
    pair = {"source_lang": "de", "target_lang": "en"}
    put = form.send("PUT", f"{path}/dictionaries", {**pair, "entries": "Maus,mouse", "entries_format": "csv"})
    assert put.json()["entry_count"] == 1
    entries = form.http.get(f"/v3/glossaries{path}/entries", params=pair, headers=form.headers).json()
    assert entries["dictionaries"][0]["entries"] == "Maus\tmouse"


def test_a_glossary_may_begin_empty(form: Form, client: deepl.DeepLClient) -> None:
    made = form.send("POST", "", {"name": "a"})
    assert (made.status_code, made.json()["dictionaries"]) == (201, [])
    empty = client.create_multilingual_glossary("Tiere", [])
    assert infos_of(empty) == []
    assert infos_of(client.update_multilingual_glossary_dictionary(empty, DICTIONARY)) == [("DE", "EN", 2)]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"dictionaries[0].entries": ["a\tb", "c\td"]}, "dictionaries[0].entries: occurs 2 times"),
        ({"dictionaries[2].entries": "a\tb"}, "dictionaries[1]: is missing"),
        ({"dictionaries": "x"}, "dictionaries: cannot be combined"),
        ({"dictionaries[0].words": "x"}, "dictionaries[0].words: is not known"),
        ({"dictionaries[00].entries": "x"}, "dictionaries[00].entries: is not known"),
        ({"dictionaries[0][entries]": "x"}, "dictionaries[0][entries]: is not known"),
        ({"dictionaries[1].source_lang": "de"}, "3 fields are invalid"),
    ],
)
def test_no_field_of_a_form_is_dropped(form: Form, changes: dict[str, str], named: str) -> None:
    made = form.send("POST", "", {"name": "a", **form.dictionary(0, "de", "en", "Hund\tdog")}).json()
    fields = {"name": "b", **form.dictionary(0, "de", "en", "Kuh\tcow"), **changes}
    for method, path in (("POST", ""), ("PATCH", f"/{made['glossary_id']}")):
        status, message = error_of(form.send(method, path, fields))
        assert status == 400
        assert message.startswith(named)
    listed = form.http.get("/v3/glossaries", headers=form.headers).json()["glossaries"]
    assert listed == [made]


def test_larger_bodies_than_texts_may_be_changes_too(client: deepl.DeepLClient) -> None:
    entries = {str(number): "x" * 190 for number in range(6000)}
    made = client.create_multilingual_glossary(
        "Tiere", [MultilingualGlossaryDictionaryEntries("DE", "EN", entries)]
    )
    assert (
        client.update_multilingual_glossary_dictionary(made, DICTIONARY).dictionaries[0].entry_count == 6002
    )
    client.delete_multilingual_glossary(made)
    client.close()  # type: ignore[no-untyped-call]


def terms_of(double: DoubleTranslator) -> tuple[Term, ...]:
    """Of the texts that were translated, which all have the same."""
    [terms] = {options.terminology.terms for _, options in double.seen if options.terminology is not None}
    return terms


DOG, CAT = Term("Hund", ("dog",)), Term('Katze "Mia"', ("cat, Mia",))


@pytest.mark.parametrize("target", ["EN-GB", "EN-US"])
def test_a_translation_uses_a_glossary_of_either_version(
    client: deepl.DeepLClient, double: DoubleTranslator, target: str
) -> None:
    for made in (
        client.create_glossary("Tiere", "DE", "EN", ENTRIES),
        client.create_multilingual_glossary("Tiere", [DICTIONARY]),
    ):
        double.seen.clear()
        client.translate_text("Ein Hund.", source_lang="DE", target_lang=target, glossary=made)
        assert terms_of(double) == (DOG, CAT)


def test_of_several_glossaries_the_first_is_the_most_important(
    client: deepl.DeepLClient, double: DoubleTranslator
) -> None:
    first = client.create_glossary("a", "DE", "EN", {"Hund": "hound"})
    second = client.create_glossary("b", "DE", "EN", ENTRIES)
    double.seen.clear()
    client.translate_text("Hund", source_lang="DE", target_lang="EN-GB", glossary_ids=[first, second])
    assert terms_of(double) == (DOG, CAT, Term("Hund", ("hound",)))  # the last one counts


def test_a_translated_document_uses_its_glossary_as_it_was(
    client: deepl.DeepLClient, double: DoubleTranslator
) -> None:
    made = client.create_multilingual_glossary("Tiere", [DICTIONARY])
    double.seen.clear()
    double.released.clear()
    sent = [
        upload(client, "wait", source_lang="DE", glossary=made),
        upload(client, "Ein Hund", source_lang="DE", glossary_ids=[made]),
    ]
    client.delete_multilingual_glossary(made)
    double.released.set()
    until(lambda: all(client.translate_document_get_status(each).done for each in sent))
    assert terms_of(double) == (DOG, CAT)
    assert sorted(text for text, _ in double.seen) == ["Ein Hund", "wait"]


TRANSLATIONS: dict[str, Any] = {"/v2/translate": None, "/v2/document": {"file": ("a.txt", b"Hund")}}
"""Routes that translate, with the files that they take."""


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({}, 400, "source_lang: is required with a glossary"),
        ({"source_lang": "DE", "glossary_id": "none"}, 404, "glossary 'none' not found"),
        ({"source_lang": "DE", "glossary_ids": "a,b"}, 400, "cannot be combined with glossary_id"),
        ({"source_lang": "DE", "glossary_id": "", "glossary_ids": "a,b,c,d,e,f"}, 400, "6 ids exceed"),
    ],
)
def test_a_glossary_that_cannot_be_used_is_rejected(
    http: httpx.Client, auth: Auth, client: deepl.DeepLClient, fields: Auth, status: int, words: str
) -> None:
    made = client.create_glossary("Tiere", "DE", "EN", ENTRIES)
    data = {"text": "Hund", "target_lang": "EN", "glossary_id": made.glossary_id, **fields}
    for path, files in TRANSLATIONS.items():
        found, message = error_of(http.post(path, data=data, files=files, headers=auth))
        assert (found, words in message) == (status, True)


def test_a_glossary_of_another_pair_is_rejected(many: httpx.Client) -> None:
    made = many.post("/v2/glossaries", json=NEW).json()
    data = {"text": "a", "source_lang": "EN", "target_lang": "FR", "glossary_id": made["glossary_id"]}
    problem = "glossary_id: No dictionary found for language pair en -> fr; it has de -> en"
    for path, files in TRANSLATIONS.items():
        assert error_of(many.post(path, data=data, files=files)) == (400, problem)
    many.delete(f"/v2/glossaries/{made['glossary_id']}")


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda client: client.get_all_style_rules(), "tyle rules"),
        (lambda client: client.rephrase_text("Hallo"), "write/rephrase"),
        (lambda client: client.correct_text("Hallo"), "write/correct"),
    ],
)
def test_an_unserved_language_is_reported_as_unserved(
    client: deepl.DeepLClient, ask: Callable[[deepl.DeepLClient], object], words: str
) -> None:
    with pytest.raises(deepl.DeepLException, match=f"{words}.*not supported") as refused:
        ask(client)
    assert (refused.value.http_status_code, refused.value.should_retry) == (400, False)
