"""What is sent to Google's API by hand: ways of sending, errors in its form, hostile bodies."""

import httpx
import pytest

from tests.google_translate.conftest import PATH, Serve, error_of
from tests.service.keys import Keys

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
        ({"q": None}, "q: is missing; send one text or more"),
        ({"q": []}, "q: is missing; send one text or more"),
        ({"q": 1}, "q: must be a string or an array of strings"),
        ({"q": ["a", 1]}, "q[1]: must be a string"),
        ({"q": ["a", "unusable"]}, "q[1]: is not usable"),
        ({"q": "unusable"}, "q: is not usable"),
        ({"target": ""}, "target: is missing; name the language to translate into"),
        ({"format": "xml"}, "format: must be one of html, text, or omitted"),
        ({"model": "projects/p/models/m"}, "model: must be one of nmt, base, or omitted"),
        ({"cid": ["a"]}, "cid: customizations are not supported; send the request without ids"),
        (
            {"fields": "data"},
            "fields: is unknown or not supported; known are q, target, source, format, model, cid, key",
        ),
        ({"alt": "media"}, "alt: must be one of json, or omitted"),
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


def test_a_key_may_be_in_the_url_or_the_body(serve: Serve, keys: Keys) -> None:
    http = serve(database_url=keys.url, requires_key=True)
    key = keys.make()

    assert http.post(PATH, json=BODY, params={"key": key}).status_code == 200
    assert http.post(PATH, json=BODY | {"key": key}).status_code == 200
    assert http.post(PATH, json=BODY, headers={"X-Goog-Api-Key": key}).status_code == 200
    missing = "The request is missing a valid API key."
    assert error_of(http.post(PATH, json=BODY)) == (403, "PERMISSION_DENIED", "forbidden", missing)
    invalid = "API key not valid. Please pass a valid API key."
    for sent in ({"params": {"key": "no"}}, {"headers": {"X-Goog-Api-Key": "no"}}):
        response = http.post(PATH, json=BODY, **sent)  # type: ignore[arg-type]
        assert error_of(response) == (400, "INVALID_ARGUMENT", "badRequest", invalid)
    token = http.post(PATH, json=BODY, headers={"Authorization": "Bearer no"})
    assert error_of(token)[:3] == (401, "UNAUTHENTICATED", "authError")
    assert token.headers["www-authenticate"] == "Bearer"


def test_any_key_is_accepted_where_none_is_required(http: httpx.Client) -> None:
    assert http.post(PATH, json=BODY, params={"key": "any"}).status_code == 200


def test_a_failure_does_not_contain_the_text(http: httpx.Client) -> None:
    status, code, reason, message = error_of(http.post(PATH, json=BODY | {"q": "explode geheim"}))
    assert (status, code, reason) == (500, "INTERNAL", "backendError")
    assert "geheim" not in message
    assert error_of(http.post(PATH, json=BODY | {"q": "late"}))[:2] == (504, "DEADLINE_EXCEEDED")


def test_detection_can_be_off(serve: Serve) -> None:
    assert error_of(serve().post(f"{PATH}/detect", json={"q": "Hallo"}))[0] == 400


def test_addresses_as_weblate_and_discourse_send_them(http: httpx.Client) -> None:
    fields = {"q": "Ein Haus", "source": "de", "target": "en"}
    expected = http.get(PATH, params=fields).json()
    assert http.get(f"{PATH}/", params=fields).json() == expected
    assert http.post(f"{PATH}/", data=fields).json() == expected
    listed = http.get(f"{PATH}/languages").json()
    assert http.post(f"{PATH}/languages", data={}).json() == listed
    assert http.post(f"{PATH}/languages", json={"target": "en"}).json() != listed
