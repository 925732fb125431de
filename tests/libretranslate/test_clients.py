"""Programs that speak to LibreTranslate, unchanged, and requests just as others make them."""

from urllib.error import HTTPError

import httpx
import pytest
from deep_translator import LibreTranslator
from deep_translator.exceptions import AuthorizationException, ServerException
from libretranslatepy import LibreTranslateAPI

from tests.libretranslate.conftest import Serve
from tests.service.keys import Keys

GERMAN = "Das ist ein schönes Haus am Ufer des Flusses"


def test_libretranslatepy_translates_detects_and_lists(client: httpx.Client) -> None:
    api = LibreTranslateAPI(str(client.base_url).rstrip("/"))

    assert api.translate("Guten Tag & äöü", "de", "en") == "Guten Tag & äöü|german"
    assert api.translate(GERMAN, "auto", "en") == f"{GERMAN}|german"
    found = api.detect(GERMAN)
    assert found[0]["language"] == "de"
    assert found[0]["confidence"] > found[-1]["confidence"]
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


HTML = {"target": "en", "format": "html"}
STRINGS = [f"Zeile {number}" for number in range(20)]


@pytest.mark.parametrize(
    ("way", "body", "translated"),
    [
        (
            "json",
            {"q": [f"<p>{GERMAN}</p>", "Ein Bild"], "source": "auto", "api_key": None, **HTML},
            [f"<p>{GERMAN}|german</p>", "Ein Bild|german"],
        ),
        ("json", {"q": "<p>Hallo</p>", "source": "DE", "api_key": "", **HTML}, "<p>Hallo|german</p>"),
        ("data", {"q": "<b>Hallo</b>", "source": "de", "api_key": "", **HTML}, "<b>Hallo|german</b>"),
        (
            "json",
            {"api_key": "", "q": STRINGS, "source": "de", "target": "en"},
            [f"{string}|german" for string in STRINGS],
        ),
    ],
    ids=["Mastodon", "Pleroma", "Discourse", "Weblate"],
)
def test_programs_are_answered_as_they_ask(
    client: httpx.Client, way: str, body: dict[str, object], translated: object
) -> None:
    answer = client.request("POST", "/translate", **{way: body}).json()  # type: ignore[arg-type]

    assert answer["translatedText"] == translated
    if body["source"] == "auto":
        assert [found["language"] for found in answer["detectedLanguage"]] == ["de", "de"]


def test_as_mastodon_asks_for_one_text_of_no_known_language(client: httpx.Client) -> None:
    """Without a key and a language; the target is as the reader's browser has it."""
    text = {"q": f"<p>{GERMAN}</p>", "source": "auto", "format": "html", "api_key": None}
    for target, model in (("en", "german"), ("pt-BR", "german|wide"), ("zh-TW", "german|wide")):
        answer = client.post("/translate", json={**text, "target": target}).json()
        assert answer["translatedText"] == f"<p>{GERMAN}|{model}</p>"
        assert answer["detectedLanguage"]["language"] == "de"


def test_as_discourse_asks_where_no_key_is_set(client: httpx.Client) -> None:
    """Its form then has the field's name alone."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    found = client.post("/detect", content=b"q=Das+ist+ein+Haus&api_key", headers=form).json()
    assert found[0]["language"] == "de"
    body = b"q=%3Cb%3EHallo%3C%2Fb%3E&source=de&target=en&format=html&api_key"
    answer = client.post("/translate", content=body, headers=form).json()
    assert answer == {"translatedText": "<b>Hallo|german</b>"}


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
