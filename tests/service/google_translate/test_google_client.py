"""Google's API: its own client works unchanged, and requests by hand get errors in its form."""

import httpx
import pytest
from google.api_core import exceptions
from google.cloud.translate_v2 import Client
from google.oauth2.credentials import Credentials as TokenCredentials

from tests.service.google_translate.conftest import PATH, ClientOf, Serve, error_of
from tests.service.keys import Keys

GERMAN = "Das ist ein schönes Haus am Ufer des Flusses"


def test_the_client_translates_one_text_and_several(client: Client) -> None:
    one = client.translate("Hallo", target_language="en", source_language="de")
    assert one == {"translatedText": "Hallo|german", "input": "Hallo"}

    several = client.translate([GERMAN, "12"], target_language="en", format_="text", model="nmt")
    assert [each["translatedText"] for each in several] == [f"{GERMAN}|german", "12"]
    assert [each["detectedSourceLanguage"] for each in several] == ["de", "und"]
    assert [each["model"] for each in several] == ["nmt", "nmt"]


def test_html_is_the_default_and_text_has_no_entities(client: Client) -> None:
    def translate(text: str, **options: str) -> str:
        found = client.translate(text, target_language="en", source_language="de", **options)
        return str(found["translatedText"])

    assert translate("<b>Hund</b> & Katze") == "<b>Hund</b> &amp; Katze|german"
    assert translate("<b>Hund</b> &amp; Katze") == "<b>Hund</b> &amp; Katze|german"
    assert translate("a < b & c", format_="text") == "a < b & c|german"


def test_the_client_detects(client: Client) -> None:
    one = client.detect_language(GERMAN)
    assert (one["language"], one["input"]) == ("de", GERMAN)
    assert 0 < one["confidence"] <= 1
    assert [each["language"] for each in client.detect_language([GERMAN, "12"])] == ["de", "und"]


def test_the_client_lists_languages_with_names_in_a_language(client: Client) -> None:
    assert [each["language"] for each in client.get_languages()] == ["de", "en", "fr", "he", "pt-BR", "zh-TW"]
    assert {"language": "fr", "name": "French"} in client.get_languages()
    assert {"language": "fr", "name": "Französisch"} in client.get_languages(target_language="de")


@pytest.mark.parametrize(
    ("target", "model"),
    [("zh-TW", "wide"), ("zh-Hant", "wide"), ("iw", "wide"), ("pt", "wide"), ("FR", "french")],
)
def test_codes_of_google_name_the_served_languages(client: Client, target: str, model: str) -> None:
    found = client.translate("Hello", target_language=target, source_language="en", format_="text")
    assert found["translatedText"] == f"Hello|{model}"


def test_every_language_that_is_listed_can_be_named(client: Client) -> None:
    for each in client.get_languages():
        if each["language"] not in {"de", "en"}:
            assert client.translate("Hello", target_language=each["language"], source_language="en")


def test_the_clients_keys_are_checked_in_both_headers(serve: Serve, keys: Keys, client_of: ClientOf) -> None:
    http = serve(database_url=keys.url, requires_key=True)
    key = keys.make()

    def translate(client: Client) -> object:
        return client.translate("Hallo", target_language="en", source_language="de")["translatedText"]

    token = client_of(http, credentials=TokenCredentials(key))  # type: ignore[no-untyped-call]
    assert translate(client_of(http, key)) == translate(token) == "Hallo|german"
    assert keys.usage(key).characters == 10
    with pytest.raises(exceptions.Forbidden, match="missing a valid API key"):
        client_of(http).get_languages()


def test_a_request_has_at_most_128_texts(client: Client) -> None:
    with pytest.raises(exceptions.BadRequest, match="129 texts exceed the limit of 128"):
        client.translate(["a"] * 129, target_language="en")


BODY = {"q": "Hallo", "source": "de", "target": "en", "format": "text"}


@pytest.mark.parametrize(
    ("method", "way"), [("POST", "json"), ("POST", "data"), ("POST", "params"), ("GET", "params")]
)
def test_fields_may_be_in_json_a_form_or_the_url(http: httpx.Client, method: str, way: str) -> None:
    for q, expected in (("Hallo", ["Hallo|german"]), (["a", "b"], ["a|german", "b|german"])):
        response = http.request(method, PATH, **{way: BODY | {"q": q}})  # type: ignore[arg-type]
        translations = response.json()["data"]["translations"]
        assert [each["translatedText"] for each in translations] == expected


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"q": None}, "q: is missing. One text or up to 128; forms and URLs repeat the field."),
        ({"q": []}, "q: is missing; send one text or more"),
        ({"q": 1}, "q: must be a string or an array of strings"),
        ({"q": ["a", 1]}, "q[1]: must be a string"),
        ({"q": ["a", "unusable"]}, "q[1]: is not usable"),
        ({"q": "unusable"}, "q: is not usable"),
        ({"target": ""}, "target: is missing. Code of the target language."),
        ({"format": "xml"}, "format: must be one of html, text"),
        ({"model": "projects/p/models/m"}, "model: must be one of nmt, base"),
        ({"cid": ["a"]}, "cid: customizations are not supported; send the request without ids"),
        ({"fields": "data"}, "fields: is not known; known are q, target, source, format, model, cid, key"),
        ({"alt": "media"}, "alt: must be json, or omitted"),
    ],
)
def test_unusable_fields_are_reported(http: httpx.Client, fields: dict[str, object], message: str) -> None:
    response = http.post(PATH, json=BODY | fields)

    assert error_of(response) == (400, "INVALID_ARGUMENT", "invalid", message)


@pytest.mark.parametrize(
    "fields", [{"target": "xx"}, {"source": "xx"}, {"source": "en"}, {"target": "x" * 9999}]
)
def test_languages_that_are_not_served_are_named(http: httpx.Client, fields: dict[str, str]) -> None:
    status, code, reason, message = error_of(http.post(PATH, json=BODY | fields))

    assert (status, code, reason) == (400, "INVALID_ARGUMENT", "invalid")
    assert message.startswith(("target: ", "source: "))
    assert len(message) < 300


def test_names_of_languages_need_a_language(http: httpx.Client) -> None:
    for target in ("zzzz", "not a code", "x" * 9999):
        assert error_of(http.get(f"{PATH}/languages", params={"target": target}))[0] == 400


def test_a_key_that_is_missing_or_wrong_is_named_in_googles_words(serve: Serve, keys: Keys) -> None:
    http = serve(database_url=keys.url, requires_key=True)
    missing = "The request is missing a valid API key."
    assert error_of(http.post(PATH, json=BODY)) == (403, "PERMISSION_DENIED", "forbidden", missing)
    invalid = "API key not valid. Please pass a valid API key."
    for sent in ({"params": {"key": "no"}}, {"headers": {"X-Goog-Api-Key": "no"}}):
        response = http.post(PATH, json=BODY, **sent)  # type: ignore[arg-type]
        assert error_of(response) == (400, "INVALID_ARGUMENT", "badRequest", invalid)
    token = http.post(PATH, json=BODY, headers={"Authorization": "Bearer no"})
    assert error_of(token)[:3] == (401, "UNAUTHENTICATED", "authError")
    assert token.headers["www-authenticate"] == "Bearer"


def test_failures_have_googles_codes_and_not_the_text(http: httpx.Client) -> None:
    assert error_of(http.post(PATH, json=BODY | {"q": "explode"}))[:3] == (500, "INTERNAL", "backendError")
    assert error_of(http.post(PATH, json=BODY | {"q": "late"}))[:2] == (504, "DEADLINE_EXCEEDED")


def test_languages_may_be_posted_as_discourse_does(http: httpx.Client) -> None:
    listed = http.get(f"{PATH}/languages").json()
    assert http.post(f"{PATH}/languages", data={}).json() == listed
    assert http.post(f"{PATH}/languages", json={"target": "en"}).json() != listed
