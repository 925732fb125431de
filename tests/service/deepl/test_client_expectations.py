"""What DeepL's own clients and programs on top of them match on, word by word; languages by resource."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from threading import Event
from typing import Any

import deepl
import httpx
import pytest
from deepl import __main__ as deepl_command

from tests.engine.routing.doubles import until, until_equal, write_bundle
from tests.service.conftest import models_client
from tests.service.deepl.conftest import auth_of, error_of, translate, upload
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

Auth = dict[str, str]
GERMAN = "Das Wetter ist heute sehr schön, und wir gehen in den Garten."
ENGLISH = "The weather is very nice today and we are going to the garden."


@pytest.fixture(scope="module")
def known_keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    """Of the server that wants none: with one database, it would take documents of the other."""
    return Keys(f"sqlite:///{tmp_path_factory.mktemp('known') / 'accounts.db'}")


@pytest.fixture(scope="module")
def keyless(tmp_path_factory: pytest.TempPathFactory, known_keys: Keys) -> Iterator[httpx.Client]:
    """Of a server that knows keys but wants none, and detects: de -> en, en-US -> en-GB."""
    folder = tmp_path_factory.mktemp("keyless")
    write_bundle(folder / "a", "german")
    write_bundle(folder / "b", "variants", ["en-US"], ["en-GB"])
    settings = {"database_url": known_keys.url, "detection": "on", "preload": "a"}
    with models_client(folder, **settings) as client:
        yield client


@pytest.mark.parametrize("target", ["EN-US", "en-gb", "EN"])
def test_a_text_into_a_variant_of_its_own_language_comes_back_and_is_charged(
    http: httpx.Client, keys: Keys, double: DoubleTranslator, target: str
) -> None:
    double.seen.clear()
    key = keys.make()
    auth = auth_of(key)
    answer = translate(http, auth, source_lang="EN", target_lang=target, show_billed_characters=True)
    assert answer == {"detected_source_language": "EN", "text": "Hallo", "billed_characters": 5}
    assert double.seen == []
    assert keys.usage(key).characters == 5


def test_a_model_between_variants_is_used(keyless: httpx.Client) -> None:
    answer = translate(keyless, source_lang="EN-US", target_lang="EN-GB")
    assert answer == {"detected_source_language": "EN", "text": "Hallo|variants"}


def test_limits_apply_to_texts_that_stay_unchanged(http: httpx.Client, keys: Keys) -> None:
    auth = auth_of(keys.make(characters_per_month=4))
    wanted = {"text": ["Hallo"], "source_lang": "EN", "target_lang": "EN-US"}
    assert error_of(http.post("/v2/translate", json=wanted, headers=auth))[0] == 456
    many = {**wanted, "text": ["x"] * 1001}
    assert error_of(http.post("/v2/translate", json=many, headers=auth))[0] == 413


def test_an_unserved_language_is_named(http: httpx.Client, keyless: httpx.Client, auth: Auth) -> None:
    for languages in (
        {"target_lang": "XX"},
        {"target_lang": "EN-GB", "source_lang": "XX"},
        {"target_lang": "x" * 10_000},
        {"source_lang": "DE", "target_lang": "DE"},
    ):
        for client, path in product((http, keyless), ("/v2/translate", "/v2/document")):
            files = None if path == "/v2/translate" else {"file": ("a.txt", b"Hallo")}
            response = client.post(path, data={"text": ["Hallo"], **languages}, files=files, headers=auth)
            *_, field = languages
            assert error_of(response) == (400, f"Value for '{field}' not supported."), path
            assert response.json()["detail"]


def test_ids_of_documents_are_upper_case_hexadecimal_and_taken_in_any_case(
    http: httpx.Client, auth: Auth
) -> None:
    files = {"file": ("a.txt", b"Hallo")}
    sent = http.post("/v2/document", data={"target_lang": "EN"}, files=files, headers=auth).json()
    assert re.fullmatch("[0-9A-F]{32}", sent["document_id"])
    assert re.fullmatch("[0-9A-F]{64}", sent["document_key"])
    for written in (str.upper, str.lower):
        path = f"/v2/document/{written(sent['document_id'])}"
        body = {"document_key": written(sent["document_key"])}
        assert http.post(path, json=body, headers=auth).json()["document_id"] == sent["document_id"]


def test_a_failed_document_names_its_ids_in_the_clients_form(
    client: deepl.DeepLClient, tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_text("Hello", encoding="utf8")
    with pytest.raises(
        deepl.DocumentTranslationException,
        match=r"Source and target.*equal.*ID: [0-9A-F]{32}, key: [0-9A-F]{64}",
    ):
        client.translate_document_from_filepath(
            tmp_path / "in.txt", tmp_path / "out.txt", source_lang="EN", target_lang="EN-GB"
        )


def test_a_document_in_the_target_language_already_is_an_error_and_costs_nothing(
    keyless: httpx.Client, known_keys: Keys
) -> None:
    key = known_keys.make()
    auth = auth_of(key)
    form = {"target_lang": "EN-GB"}
    ended = {}
    for name, text in (("english", ENGLISH), ("german", GERMAN), ("numbers", "12 + 3")):
        files = {"file": ("a.txt", text.encode())}
        sent = keyless.post("/v2/document", data=form, files=files, headers=auth).json()
        path, body = f"/v2/document/{sent['document_id']}", {"document_key": sent["document_key"]}
        until(lambda: keyless.post(path, json=body, headers=auth).json()["status"] in {"done", "error"})  # noqa: B023 -- at once
        ended[name] = keyless.post(path, json=body, headers=auth).json()
    assert ended["english"]["status"] == "error"
    assert ended["english"]["error_message"] == "Source and target language are equal."
    assert (ended["german"]["status"], ended["numbers"]["status"]) == ("done", "done")
    used = known_keys.usage(key)
    assert (used.characters, used.documents) == (len(GERMAN) + len("12 + 3"), 2)


def test_any_key_is_accepted_if_none_is_required(keyless: httpx.Client, known_keys: Keys) -> None:
    """DeepL's clients cannot go without one."""
    own = known_keys.make()
    for key in ("any", "12345678-1234-1234-1234-123456789abc:fx", own[:-1] + "?", "drg_00000000_" + "x" * 43):
        client = deepl.DeepLClient(key, server_url=str(keyless.base_url))
        assert str(client.translate_text("Hallo", source_lang="DE", target_lang="EN-GB")) == "Hallo|german"
        assert client.get_usage().character.count == 0
        assert client.get_target_languages()
        handle = client.translate_document_upload(
            "Hallo", source_lang="DE", target_lang="EN-US", filename="a.txt"
        )
        assert client.translate_document_get_status(handle).ok
        client.close()  # type: ignore[no-untyped-call]
    translate(keyless, auth_of(own), source_lang="DE")
    assert known_keys.usage(own).characters == 5


def test_the_time_left_covers_all_unfinished_documents(
    client: deepl.DeepLClient, double: DoubleTranslator, released: Event
) -> None:
    handles = [upload(client, f"wait {number}") for number in range(5)]
    until(double.is_waiting.is_set)

    def statuses() -> list[deepl.DocumentStatus]:
        return [client.translate_document_get_status(handle) for handle in handles]

    until_equal(lambda: {status.status.value for status in statuses()}, {"queued", "translating"})
    assert all((status.seconds_remaining or 0) >= 1 for status in statuses())
    released.set()
    until(lambda: all(status.done and status.seconds_remaining is None for status in statuses()))


def test_the_client_translates_texts_of_any_kind_between_listed_languages(client: deepl.DeepLClient) -> None:
    [source] = client.get_source_languages()
    for target in client.get_target_languages():
        texts = (f"text {number}" for number in range(120))
        results = client.translate_text(texts, source_lang=source, target_lang=target)
        assert isinstance(results, list)
        assert [result.text for result in results] == [f"TEXT {number}" for number in range(120)]


def test_the_clients_own_command_works(
    http: httpx.Client, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments, expected in (
        (["text", "--to", "EN-US", "Hallo", "Welt"], "HALLO\nWELT"),
        (
            ["text", "--to", "EN-US", "--tag-handling", "xml", "<a>Ein <b>Hund</b></a>"],
            "<a>EIN <b>HUND</b></a>",
        ),
        (["usage"], "Characters: "),
        (["languages"], "EN-GB: English (United Kingdom)"),
        (["languages", "--glossary"], "de, en"),
        (["glossary", "list"], "Glossary ID"),
    ):
        deepl_command.main(["--auth-key", key, "--server-url", str(http.base_url), *arguments])  # type: ignore[no-untyped-call]
        assert expected in capsys.readouterr().out, arguments


BOTH = {"needs_source_support": True, "needs_target_support": True}
STABLE = {"status": "stable"}


def languages_of(client: httpx.Client, resource: str, **parameters: str) -> dict[str, dict[str, Any]]:
    """The languages of a resource, by code."""
    response = client.get("/v3/languages", params={"resource": resource} | parameters)
    assert response.status_code == 200, response.text
    return {each.pop("lang"): each for each in response.json()}


def resources_of(client: httpx.Client) -> dict[str, list[dict[str, Any]]]:
    return {each["name"]: each["features"] for each in client.get("/v3/languages/resources").json()}


def test_regional_targets_are_listed_beside_their_language_and_are_no_sources(many: httpx.Client) -> None:
    found = languages_of(many, "translate_text")

    assert list(found) == ["de", "en", "en-GB", "en-US", "fr", "pt", "pt-BR", "zh-Hant"]
    assert [code for code, each in found.items() if each["usable_as_source"]] == ["de", "en", "pt"]
    targets = ["en", "en-GB", "en-US", "fr", "pt-BR", "zh-Hant"]
    assert [code for code, each in found.items() if each["usable_as_target"]] == targets
    assert found["en-US"]["name"] == "English (United States)"
    assert {each["status"] for each in found.values()} == {"stable"}


def test_a_language_has_the_features_that_the_server_offers_for_it(many: httpx.Client) -> None:
    found = languages_of(many, "translate_text")

    assert found["de"]["features"] == {
        "auto_detection": STABLE,
        "glossary": STABLE,
        "tag_handling": STABLE,
        "translation_memory": STABLE,
    }
    assert "auto_detection" not in found["en-GB"]["features"]
    assert "glossary" in found["en-GB"]["features"]


def test_documents_have_no_tag_handling_and_other_resources_no_features(many: httpx.Client) -> None:
    assert set(languages_of(many, "translate_document")["de"]["features"]) == {
        "auto_detection",
        "glossary",
        "translation_memory",
    }
    for resource in ("glossary", "style_rules", "translation_memory", "voice", "write"):
        found = languages_of(many, resource)
        assert found
        assert all(each["features"] == {} for each in found.values()), resource
    assert set(languages_of(many, "glossary")) == {"de", "en", "fr", "pt"}


def test_every_resource_is_named_with_the_languages_that_its_features_need(many: httpx.Client) -> None:
    found = resources_of(many)

    others = ["glossary", "style_rules", "translation_memory", "voice", "write"]
    assert set(found) == {"translate_text", "translate_document", *others}
    by_name = {each.pop("name"): each for each in found["translate_text"]}
    assert by_name["auto_detection"] == {"needs_source_support": True}
    assert by_name["formality"] == {"needs_target_support": True}
    assert by_name["glossary"] == by_name["tag_handling"] == by_name["translation_memory"] == BOTH
    assert [found[each] for each in others] == [[]] * 5


def test_no_language_is_detected_where_detection_is_off(http: httpx.Client, auth: dict[str, str]) -> None:
    listed = http.get("/v3/languages", params={"resource": "TRANSLATE_TEXT"}, headers=auth).json()
    resources = http.get("/v3/languages/resources", headers=auth).json()

    assert [each["lang"] for each in listed] == ["de", "en", "en-GB", "en-US"]
    assert all("auto_detection" not in each["features"] for each in listed)
    assert "auto_detection" not in str(resources)


def test_clients_may_include_what_is_in_beta_of_which_there_is_nothing(many: httpx.Client) -> None:
    plain = many.get("/v3/languages?resource=translate_text").json()
    assert many.get("/v3/languages?resource=translate_text&include=beta&include=external").json() == plain


@pytest.mark.parametrize(
    ("query", "message"), [("", "is missing"), ("?resource=", "is missing"), ("?resource=bogus", "must be")]
)
def test_a_resource_must_be_named(many: httpx.Client, query: str, message: str) -> None:
    status, found = error_of(many.get(f"/v3/languages{query}"))
    assert status == 400
    assert found.startswith(f"resource: {message}")


def test_the_lists_need_a_key_if_the_server_requires_one(http: httpx.Client) -> None:
    for path in ("/v3/languages?resource=translate_text", "/v3/languages/resources"):
        assert error_of(http.get(path))[0] == 403
