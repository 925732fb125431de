"""What DeepL's own clients for Python and Node.js and programs on top of them match on, word by word."""

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from threading import Event

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
