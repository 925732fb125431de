"""Every error under `/v2` has DeepL's form and status, whoever notices it; hostile requests are errors."""

import json
import re

import deepl
import httpx
import pytest

from service.accounts.keys import Scope
from service.api.deepl.responses import FORM as ERROR_FORM
from service.http.errors import ApiError, ErrorKind
from tests.service.deepl.conftest import ClientOf, auth_of, error_of, translate, upload
from tests.service.keys import Keys
from tests.service.openapi.documented import DOCUMENT

Auth = dict[str, str]
JSON = {"Content-Type": "application/json"}


ROUTES = [
    *(
        (method, path)
        for path in DOCUMENT["paths"]
        if ERROR_FORM.owns(path)
        for method in DOCUMENT["paths"][path]
    ),
    *(("get", "/v3/style_rules"), ("patch", "/v3/style_rules/x"), ("post", "/v2/write/rephrase")),
]


@pytest.mark.parametrize("authorization", [{}, auth_of("none"), {"Authorization": "Bearer x"}])
def test_without_a_key_nothing_is_had(http: httpx.Client, authorization: Auth) -> None:
    for method, path in ROUTES:
        status, message = error_of(http.request(method, path, headers=authorization))
        assert (status, "key" in message) == (403, True), (method, path)


def test_the_scheme_is_known_in_any_case_and_a_key_may_look_like_a_free_one(
    http: httpx.Client, key: str
) -> None:
    assert translate(http, {"authorization": f"deepl-auth-key {key}:fx"})["text"] == "HALLO"


def test_every_valid_key_may_see_languages_and_its_usage(client_of: ClientOf, keys: Keys) -> None:
    client = client_of(keys.make(Scope.ADMIN))
    assert client.get_usage().character.count == 0
    assert client.get_target_languages()
    assert client.get_glossary_languages()
    for scope, ask in (
        ("translate", lambda: client.translate_text("Hallo", target_lang="EN-GB")),
        ("documents", lambda: upload(client)),
        ("glossaries", client.list_glossaries),
    ):
        with pytest.raises(deepl.AuthorizationException, match=scope):
            ask()
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


@pytest.mark.parametrize("kind", ErrorKind)
def test_every_kind_of_error_has_a_form_and_no_challenge(kind: ErrorKind) -> None:
    response = ERROR_FORM.respond(
        ApiError(kind, "no", headers={"WWW-Authenticate": "Bearer", "Retry-After": "2"})
    )
    assert json.loads(bytes(response.body)) == {"message": "no"}
    assert 400 <= response.status_code < 600
    assert response.status_code not in {401, 422}
    assert "www-authenticate" not in response.headers
    assert response.headers["retry-after"] == "2"
    assert response.headers["x-trace-id"]


def test_the_form_is_that_of_paths_of_versions_2_and_3_alone() -> None:
    paths = ("/v2", "/v2/x", "/v3/x", "/v22", "/v1/v2")
    assert [path for path in paths if ERROR_FORM.owns(path)] == ["/v2", "/v2/x", "/v3/x"]


def test_every_answer_has_another_id(http: httpx.Client, auth: Auth) -> None:
    ids = {http.get("/v2/usage", headers=auth).headers["x-trace-id"] for _ in range(3)}
    ids |= {http.get("/v2/nothing").headers["x-trace-id"] for _ in range(3)}
    assert len(ids) == 6


def test_a_document_may_be_larger_than_other_bodies(http: httpx.Client, auth: Auth) -> None:
    files = {"file": ("a.txt", b" " * 2**21)}
    response = http.post("/v2/document", data={"target_lang": "EN"}, files=files, headers=auth)
    assert response.status_code == 200


def test_a_url_over_the_limit_is_too_long(http: httpx.Client, auth: Auth) -> None:
    response = http.get("/v2/translate", params={"text": "x" * 9000, "target_lang": "EN"}, headers=auth)
    assert error_of(response)[0] == 414


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("text", [None, [], {"a": "b"}, ["a", 1], ["a", ["b"]]]),
        ("target_lang", [None, ["EN"], "\ud800", "x" * 10_000]),
        ("source_lang", [{}, "auto"]),  # nothing is detected here
        ("split_sentences", [1, "2"]),
        ("preserve_formatting", ["maybe"]),
        ("show_billed_characters", [[]]),
        ("formality", ["rude"]),
        ("model_type", ["best"]),
        ("tag_handling", ["markdown"]),
        ("tag_handling_version", ["v3"]),
        ("ignore_tags", [[1]]),
        ("outline_detection", ["x"]),
        ("context", [["x"]]),
        ("custom_instructions", ["x"]),
        ("glossary_id", [1]),
    ],
)
def test_a_bad_field_is_named(http: httpx.Client, auth: Auth, field: str, values: list[object]) -> None:
    for value in values:
        body = {"text": ["a"], "target_lang": "EN", field: value}
        response = http.post("/v2/translate", content=json.dumps(body), headers=auth | JSON)
        status, message = error_of(response)
        assert status == 400
        assert re.match(f"(Value for ')?{field}", message), (value, message)
