"""Programs that speak to LibreTranslate, unchanged, and what they ask before they translate."""

from pathlib import Path
from urllib.error import HTTPError

import httpx
import pytest
from deep_translator import LibreTranslator
from deep_translator.exceptions import AuthorizationException, ServerException
from hypothesis import given
from hypothesis import strategies as st
from libretranslatepy import LibreTranslateAPI

from dragoman.routing.routes import Routes
from service.api.catalogue import catalogue
from service.api.languages import english_name
from service.api.libretranslate.api import detect_together
from service.formats.registry import SUFFIXES
from service.translation.detection import NOTHING
from tests.engine.routing.doubles import offer, write_bundle
from tests.service.conftest import models_client
from tests.service.keys import Keys
from tests.service.libretranslate.conftest import Serve, error_of

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
    with models_client(tmp_path / "models", reload_endpoint=True) as client:
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
    confidences = [each["confidence"] for each in found]
    assert confidences == sorted(confidences, reverse=True)
    assert 50 < confidences[0] <= 100


WORDS = (
    "Guten",
    "Morgen",
    "good",
    "morning",
    "the",
    "der",
    "une",
    "belle",
    "maison",
    "42",
    "Hand",
    "é",
    "🙂",
)
TEXTS = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
AMONG = ("de", "en", "fr", "pt", "zh")


@given(TEXTS)
def test_a_text_has_few_likely_languages(text: str) -> None:
    """Clients that want exactly one language get one, unless another one is likely too."""
    best, *others = detect_together([text], AMONG)

    assert len(others) <= 2
    assert all(0.1 <= other.confidence <= best.confidence for other in others)
    assert not others or len(text) >= 20


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_languages_of_several_texts_have_the_average_of_their_confidences(texts: list[str]) -> None:
    """One list is for all texts; a language's average is that of the texts that may be in it."""
    found = detect_together(texts, AMONG)

    languages = [one for text in texts for one in detect_together([text], AMONG) if one.confidence]
    assert {one.language for one in found} == {one.language for one in languages} or found == [NOTHING]
    for one in found if languages else ():
        of_one = [other.confidence for other in languages if other.language == one.language]
        assert one.confidence == pytest.approx(sum(of_one) / len(of_one))


@pytest.mark.parametrize("way", ["json", "data", "params"])
def test_longer_texts_count_for_more_in_the_order(client: httpx.Client, way: str) -> None:
    sent = {"q": ["Good morning, my friends.", "🙂", GERMAN * 3]}

    found = client.request("POST", "/detect", **{way: sent}).json()  # type: ignore[arg-type]

    assert [each["language"] for each in found[:2]] == ["de", "en"]


def test_a_detected_language_has_its_new_code(client: httpx.Client) -> None:
    found = client.post("/detect", json={"q": "这是河边一座美丽的房子"}).json()

    assert found[0]["language"] in {"zh-Hans", "zh-Hant"}


@pytest.mark.parametrize("text", ["🙂", " ", "12:30"])
def test_a_text_without_letters_is_detected_as_english(client: httpx.Client, text: str) -> None:
    assert client.post("/detect", json={"q": text}).json() == [{"confidence": 0.0, "language": "en"}]


def test_an_undetectable_text_is_rejected(client: httpx.Client) -> None:
    nothing: tuple[dict[str, object], ...] = ({}, {"q": ""}, {"q": []})
    for empty in nothing:
        missing = error_of(client.post("/detect", json=empty))
        assert missing == (400, "Invalid request: missing q parameter")
    assert error_of(client.post("/detect", json={"q": [1]})) == (400, "q[0]: must be a string")


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


def test_libretranslatepy_translates_detects_and_lists(client: httpx.Client) -> None:
    api = LibreTranslateAPI(str(client.base_url).rstrip("/"))

    assert api.translate("Guten Tag & äöü", "de", "en") == "Guten Tag & äöü|german"
    assert api.translate(GERMAN, "auto", "en") == f"{GERMAN}|german"
    [found] = api.detect(GERMAN)
    assert found["language"] == "de"
    assert found["confidence"] > 50
    assert {"code": "fr", "name": "French", "targets": ["fr"]} in api.languages()


def test_libretranslatepy_with_a_key(serve: Serve, keys: Keys) -> None:
    address = str(serve(database_url=keys.url, requires_key=True).base_url)

    assert LibreTranslateAPI(address, keys.make()).translate("Hallo", "de", "en") == "Hallo|german"
    for key, status in ((None, 400), ("nonsense", 403)):
        with pytest.raises(HTTPError) as rejected:
            LibreTranslateAPI(address, key).translate("Hallo", "de", "en")
        assert rejected.value.code == status
        rejected.value.close()
    # Without a key, and with one that is sent in the body of a GET.
    assert LibreTranslateAPI(address).languages() == LibreTranslateAPI(address, "nonsense").languages()


def test_deep_translator_translates(client: httpx.Client) -> None:
    translator = LibreTranslator(
        source="German", target="en", api_key="any", custom_url=f"{client.base_url}/"
    )

    assert translator.translate("Guten Tag & äöü") == "Guten Tag & äöü|german"
    assert translator.translate_batch(["eins", "zwei"]) == ["eins|german", "zwei|german"]


def test_deep_translator_raises_its_errors_for_bad_keys_and_exceeded_rates(serve: Serve, keys: Keys) -> None:
    client = serve(database_url=keys.url, requires_key=True)
    key = keys.make(requests_per_minute=1)

    def translate(api_key: str) -> str:
        address = f"{client.base_url}/"
        translated: str = LibreTranslator("de", "en", api_key, custom_url=address).translate("Hallo")
        return translated

    with pytest.raises(AuthorizationException):
        translate("nonsense")
    assert translate(key) == "Hallo|german"
    with pytest.raises(ServerException):
        translate(key)


def test_as_a_page_of_another_origin_asks(client: httpx.Client) -> None:
    origin = {"Origin": "https://example.org"}
    requested = client.options("/translate", headers={**origin, "Access-Control-Request-Method": "POST"})
    answered = client.post("/translate", json={"q": "a", "source": "de", "target": "en"}, headers=origin)

    for response in (requested, answered):
        assert response.status_code == 200
        assert response.headers["access-control-allow-origin"] == "*"
        assert response.headers["access-control-allow-methods"] == "GET, POST"
        assert response.headers["access-control-allow-headers"] == "Authorization, Content-Type, X-API-Key"


def test_pages_that_the_settings_name_are_the_only_ones(serve: Serve) -> None:
    client = serve(cors_origins="https://own.example")

    for origin, allowed in (("https://own.example", "https://own.example"), ("https://other.example", None)):
        for path in ("/languages", "/nothing", "/suggest"):
            response = client.get(path, headers={"Origin": origin})
            assert response.headers.get("access-control-allow-origin") == allowed
