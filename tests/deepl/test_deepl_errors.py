"""Every error under `/v2` has DeepL's form and status, whoever notices it; hostile requests are errors."""

import json
import re

import deepl
import httpx
import pytest

from service.accounts.keys import Scope
from service.api.deepl.responses import FORM as ERROR_FORM
from service.api.deepl.responses import respond
from service.http.errors import ApiError, ErrorKind
from tests.deepl.conftest import ClientOf, auth_of, error_of, translate
from tests.service.keys import Keys

Auth = dict[str, str]
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def test_without_a_key_nothing_is_had(http: httpx.Client) -> None:
    asked = [
        ("POST", "/v2/translate"),
        ("GET", "/v2/translate"),
        ("GET", "/v2/languages"),
        ("GET", "/v2/usage"),
        ("GET", "/v2/glossary-language-pairs"),
        ("GET", "/v2/glossaries"),
        ("POST", "/v2/glossaries"),
        ("GET", "/v2/glossaries/x"),
        ("GET", "/v2/glossaries/x/entries"),
        ("DELETE", "/v2/glossaries/x"),
        ("POST", "/v2/document"),
        ("POST", "/v2/document/x"),
        ("POST", "/v2/document/x/result"),
    ]
    for method, path in asked:
        for headers in ({}, {"Authorization": "DeepL-Auth-Key none"}, {"Authorization": "Bearer x"}):
            status, message = error_of(http.request(method, path, headers=headers))
            assert status == 403, (method, path)
            assert "key" in message


def test_the_scheme_is_known_in_any_case_and_a_key_may_look_like_a_free_one(
    http: httpx.Client, key: str
) -> None:
    assert translate(http, {"authorization": f"deepl-auth-key {key}:fx"})["text"] == "HALLO"


def test_every_key_may_see_languages_and_its_usage_and_a_wrong_one_nothing(
    client_of: ClientOf, keys: Keys
) -> None:
    client = client_of(keys.make(Scope.ADMIN))
    assert client.get_usage().character.count == 0
    assert client.get_target_languages()
    with pytest.raises(deepl.AuthorizationException, match="translate"):
        client.translate_text("Hallo", target_lang="EN-GB")
    with pytest.raises(deepl.AuthorizationException):
        client_of("drg_00000000_" + "x" * 43).get_usage()


def test_a_used_up_quota_is_a_quota_exceeded_exception(client_of: ClientOf, keys: Keys) -> None:
    key = keys.make(characters_per_month=10)
    client = client_of(key)
    client.translate_text("x" * 10, target_lang="EN-GB")
    with pytest.raises(deepl.QuotaExceededException, match="limit of 10"):
        client.translate_text("x", target_lang="EN-GB")
    usage = client.get_usage()
    assert (usage.character.count, usage.character.limit) == (10, 10)
    assert usage.character.limit_reached


def test_too_many_requests_are_a_too_many_requests_exception(client_of: ClientOf, keys: Keys) -> None:
    client = client_of(keys.make(requests_per_minute=1))
    client.get_usage()
    with pytest.raises(deepl.TooManyRequestsException):
        client.translate_text("Hallo", target_lang="EN-GB")


def test_failures_of_the_engine_have_deepls_statuses_and_are_not_charged(
    http: httpx.Client, keys: Keys
) -> None:
    key, messages = keys.make(), {}
    for text, status in (("full", 429), ("late", 504), ("explode", 500), ("unusable", 400)):
        wanted = {"text": ["gut", text], "target_lang": "EN"}
        found, messages[text] = error_of(http.post("/v2/translate", json=wanted, headers=auth_of(key)))
        assert (found, bool(messages[text])) == (status, True)
    assert "explode" not in messages["explode"]
    assert messages["unusable"] == "text[1]: is not usable"
    assert keys.usage(key).characters == 0


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_of_error_has_a_form_and_no_challenge(kind: ErrorKind) -> None:
    response = respond(ApiError(kind, "no", headers={"WWW-Authenticate": "Bearer", "Retry-After": "2"}))
    assert json.loads(bytes(response.body)) == {"message": "no"}
    assert 400 <= response.status_code < 600
    assert response.status_code not in {401, 422}
    assert "www-authenticate" not in response.headers
    assert response.headers["retry-after"] == "2"
    assert response.headers["x-trace-id"]


def test_paths_and_methods_that_are_not_there_have_the_form_too(http: httpx.Client) -> None:
    assert error_of(http.get("/v2"))[0] == 404
    assert error_of(http.get("/v2/nothing"))[0] == 404
    assert error_of(http.put("/v2/translate"))[0] == 405
    assert error_of(http.get("/v2/document"))[0] == 405
    assert http.get("/v22").json()["error"]
    assert [ERROR_FORM.owns(path) for path in ("/v2", "/v2/x", "/v3/x", "/v22", "/v1/v2")] == [True] * 3 + [
        False
    ] * 2


def test_every_answer_has_another_id(http: httpx.Client, auth: Auth) -> None:
    ids = {http.get("/v2/usage", headers=auth).headers["x-trace-id"] for _ in range(3)}
    ids |= {http.get("/v2/nothing").headers["x-trace-id"] for _ in range(3)}
    assert len(ids) == 6


def test_a_body_over_the_limit_is_too_large(http: httpx.Client, auth: Auth) -> None:
    for content in (b"x" * (2**20 + 1), json.dumps({"text": ["x" * 100_001], "target_lang": "EN"}).encode()):
        response = http.post("/v2/translate", content=content, headers=auth | JSON)
        assert error_of(response)[0] == 413
    texts = ["x"] * 1001
    response = http.post("/v2/translate", json={"text": texts, "target_lang": "EN"}, headers=auth)
    assert error_of(response)[0] == 413


def test_a_document_may_be_larger_than_other_bodies(http: httpx.Client, auth: Auth) -> None:
    files = {"file": ("a.txt", b" " * 2**21)}
    response = http.post("/v2/document", data={"target_lang": "EN"}, files=files, headers=auth)
    assert response.status_code == 200


def test_a_url_over_the_limit_is_too_long(http: httpx.Client, auth: Auth) -> None:
    response = http.get("/v2/translate", params={"text": "x" * 9000, "target_lang": "EN"}, headers=auth)
    assert error_of(response)[0] == 414


@pytest.mark.parametrize("kind", ["text/plain", "application/xml", "application/json; charset=utf-16"])
def test_a_body_of_another_type_is_not_read(http: httpx.Client, auth: Auth, kind: str) -> None:
    response = http.post("/v2/translate", content=b"x", headers=auth | {"Content-Type": kind})
    assert error_of(response)[0] == 415


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": []},
        {"text": ["a"]},
        {"text": None, "target_lang": "EN"},
        {"text": {"a": "b"}, "target_lang": "EN"},
        {"text": ["a", 1], "target_lang": "EN"},
        {"text": ["a", ["b"]], "target_lang": "EN"},
        {"text": ["a"], "target_lang": ["EN"]},
        {"text": ["a"], "target_lang": "\ud800"},
        {"text": ["a"], "target_lang": "x" * 10_000},
        {"text": ["a"], "target_lang": "EN", "source_lang": {}},
        {"text": ["a"], "target_lang": "EN", "source_lang": "auto"},  # nothing is detected here
        {"text": ["a"], "target_lang": "EN", "split_sentences": 1},
        {"text": ["a"], "target_lang": "EN", "split_sentences": "2"},
        {"text": ["a"], "target_lang": "EN", "preserve_formatting": "maybe"},
        {"text": ["a"], "target_lang": "EN", "show_billed_characters": []},
        {"text": ["a"], "target_lang": "EN", "formality": "rude"},
        {"text": ["a"], "target_lang": "EN", "model_type": "best"},
        {"text": ["a"], "target_lang": "EN", "tag_handling": "markdown"},
        {"text": ["a"], "target_lang": "EN", "tag_handling_version": "v3"},
        {"text": ["a"], "target_lang": "EN", "tag_handling": "xml", "ignore_tags": [1]},
        {"text": ["a"], "target_lang": "EN", "tag_handling": "xml", "outline_detection": "x"},
        {"text": ["a"], "target_lang": "EN", "context": ["x"]},
        {"text": ["a"], "target_lang": "EN", "custom_instructions": "x"},
        {"text": ["a"], "target_lang": "EN", "glossary_id": 1},
    ],
)
def test_a_field_that_cannot_be_used_is_named(
    http: httpx.Client, auth: Auth, body: dict[str, object]
) -> None:
    response = http.post("/v2/translate", content=json.dumps(body), headers=auth | JSON)
    status, message = error_of(response)
    assert status == 400
    named = re.match(r"(Value for ')?(\w+)", message)
    assert named is not None
    assert named[2] in {"text", "target_lang", *body}


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b"", {}),
        (b"[" * 100_000, JSON),
        (b"{", JSON),
        (b"[]", JSON),
        (b'{"text": ["a"], "text": ["b"], "target_lang": "EN"}', JSON),
        (b'{"text": ["\xff"], "target_lang": "EN"}', JSON),
        (b"text=%FF&target_lang=EN", FORM),
        (b"text=a&target_lang=EN&target_lang=EN", FORM),
        (b"&".join(b"a%d=1" % i for i in range(5000)), FORM),
        (b"--x\r\n", {"Content-Type": "multipart/form-data; boundary=x"}),
        (b"x", {"Content-Type": "multipart/form-data"}),
    ],
)
def test_a_body_that_cannot_be_read_is_a_bad_request(
    http: httpx.Client, auth: Auth, content: bytes, headers: dict[str, str]
) -> None:
    for path in ("/v2/translate", "/v2/document", "/v2/glossaries", "/v2/document/x"):
        assert error_of(http.post(path, content=content, headers=auth | headers))[0] == 400
