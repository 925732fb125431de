"""What clients ask before they translate: languages, settings, state; and which language a text is in."""

from pathlib import Path

import httpx
import pytest

from dragoman.routing.routes import Routes
from service.api.languages import english_name
from service.api.libretranslate.languages import catalogue
from service.formats.registry import SUFFIXES
from tests.libretranslate.conftest import Serve, error_of
from tests.routing.doubles import DoubleBundles, offer, write_bundle
from tests.service.conftest import ready_client, router_over
from tests.service.keys import Keys

GERMAN = "Das ist ein schönes Haus am Ufer des Flusses"


def test_languages_are_named_in_english_with_new_codes_and_reach_themselves(client: httpx.Client) -> None:
    assert client.get("/languages").json() == [
        {"code": "zh-Hans", "name": "Chinese (Simplified)", "targets": ["en", "fr", "pt-BR", "zh-Hans"]},
        {"code": "zh-Hant", "name": "Chinese (Traditional)", "targets": ["en", "fr", "pt-BR", "zh-Hant"]},
        {"code": "en", "name": "English", "targets": ["en", "fr", "pt-BR", "zh-Hant"]},
        {"code": "fr", "name": "French", "targets": ["fr"]},
        {"code": "de", "name": "German", "targets": ["de", "en", "fr", "pt-BR", "zh-Hant"]},
        {"code": "pt-BR", "name": "Portuguese (Brazil)", "targets": ["pt-BR"]},
    ]


def test_languages_of_models_that_come_later_are_listed(tmp_path: Path) -> None:
    write_bundle(tmp_path / "models" / "a", "german")
    with (
        router_over(tmp_path / "models", DoubleBundles()) as router,
        ready_client(router, reload_endpoint=True) as client,
    ):
        assert [language["code"] for language in client.get("/languages").json()] == ["en", "de"]
        write_bundle(tmp_path / "models" / "b", "french", ["en"], ["fr"])
        client.post("/v1/models/reload")
        assert [language["code"] for language in client.get("/languages").json()] == ["en", "fr", "de"]


def test_two_spellings_of_a_language_are_one() -> None:
    listed = catalogue(Routes([offer("a", "zh", "en"), offer("b", "zh-Hans", "de")])).listed

    assert [(each.code, each.targets) for each in listed] == [
        ("zh-Hans", ("de", "en", "zh-Hans")),
        ("en", ("en",)),
        ("de", ("de",)),
    ]


@pytest.mark.parametrize(
    ("served", "requested", "meant"),
    [
        ("pb", "pt-BR", "pb"),
        ("pb pt", "PT_br", "pb"),
        ("zh zt", "zh-Hant", "zt"),
        ("zh zt", "zh-Hans", "zh"),
        ("zh-Hans zh-Hant", "zt", "zh-Hant"),
        ("zh-Hans zh-Hant", "zh", "zh-Hans"),
        ("zh zt", "zh-TW", "zt"),
        ("zh zt", "zh_cn", "zh"),
        ("zh-Hans zh-Hant", "zh-HK", "zh-Hant"),
        ("zh zt zh-TW", "zh-tw", "zh-TW"),
        ("pt", "pb", "pt"),
        ("de", "de-AT", "de"),
        ("de", "d", None),
        ("de", "", None),
        ("de", "-" * 100_000, None),
    ],
)
def test_the_code_that_is_served_is_meant(served: str, requested: str, meant: str | None) -> None:
    assert catalogue(Routes([offer("a", served, "en")])).resolve(requested) == meant


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("de", "German"),
        ("no", "Norwegian"),
        ("nb", "Norwegian Bokmål"),
        ("sr-Latn", "Serbian (Latin)"),
        ("taq-Tfng", "Tamasheq (Tifinagh)"),
        ("en-US", "English (United States)"),
        ("xx", "xx"),
        ("no such code", "no such code"),
    ],
)
def test_names_are_those_of_the_registry_and_codes_without_one_name_themselves(code: str, name: str) -> None:
    assert english_name(code) == name


def test_the_settings_tell_what_there_is(client: httpx.Client) -> None:
    assert client.get("/frontend/settings").json() == {
        "charLimit": 100_000,
        "frontendTimeout": 500,
        "apiKeys": False,
        "keyRequired": False,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": list(SUFFIXES),
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": "en", "name": "English"},
        },
    }


def test_the_settings_tell_of_keys_and_of_detection(serve: Serve, keys: Keys) -> None:
    reported = serve(database_url=keys.url, requires_key=True).get("/frontend/settings").json()

    assert (reported["apiKeys"], reported["keyRequired"]) == (True, True)
    assert reported["language"]["source"] == {"code": "en", "name": "English"}


@pytest.mark.parametrize("way", ["json", "data", "params"])
def test_languages_of_a_text_come_with_the_most_likely_first(client: httpx.Client, way: str) -> None:
    found = client.request("POST", "/detect", **{way: {"q": GERMAN}}).json()  # type: ignore[arg-type]

    assert found[0]["language"] == "de"
    assert len(found) == 3
    confidences = [each["confidence"] for each in found]
    assert confidences == sorted(confidences, reverse=True)
    assert 50 < confidences[0] <= 100


def test_a_detected_language_has_its_new_code(client: httpx.Client) -> None:
    found = client.post("/detect", json={"q": "这是河边一座美丽的房子"}).json()

    assert found[0]["language"] in {"zh-Hans", "zh-Hant"}


@pytest.mark.parametrize("text", ["🙂", " ", "12:30"])
def test_a_text_without_letters_is_detected_as_english(client: httpx.Client, text: str) -> None:
    assert client.post("/detect", json={"q": text}).json() == [{"confidence": 0.0, "language": "en"}]


def test_an_undetectable_text_is_rejected(client: httpx.Client) -> None:
    assert error_of(client.post("/detect", json={})) == (400, "Invalid request: missing q parameter")
    assert error_of(client.post("/detect", json={"q": ["a"]})) == (400, "q: must be a string")


def test_a_server_without_detection_says_so(serve: Serve) -> None:
    client = serve(detection="off")

    assert error_of(client.post("/detect", json={"q": GERMAN}))[0] == 403
    rejected = client.post("/translate", json={"q": GERMAN, "source": "auto", "target": "en"})
    assert error_of(rejected)[0] == 400


def test_the_api_describes_itself(client: httpx.Client) -> None:
    described = client.get("/spec").json()

    assert described["paths"].keys() == {
        "/translate",
        "/detect",
        "/languages",
        "/frontend/settings",
        "/health",
        "/spec",
        "/translate_file",
        "/download_file/{name}",
        "/suggest",
    }
    for path, methods in described["paths"].items():
        for operation in methods.values():
            assert "422" not in operation["responses"], path
    whole = client.get("/openapi.json").json()
    assert described["paths"].keys() < whole["paths"].keys()


def test_every_example_of_the_description_is_answered_as_it_says(client: httpx.Client) -> None:
    for path, methods in client.get("/spec").json()["paths"].items():
        for operation in methods.values():
            media = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if media is not None:
                response = client.post(path, json=media["schema"]["examples"][0])
                assert str(response.status_code) in operation["responses"]
