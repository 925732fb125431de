"""Whatever a client sends, the answer is JSON of one form, and never the server's fault."""

import socket
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.service.conftest import Serve

URL = "/v1/translate"
JSON = {"Content-Type": "application/json"}


def assert_is_error(response: httpx.Response, status: int, kind: str) -> None:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    [(name, error)] = response.json().items()
    assert name == "error"
    assert error.keys() == {"type", "message", "fields"}
    assert error["type"] == kind
    assert error["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b'{"text": "a"',
        b'{"text": nan}',
        b"\xff\xfe\xfd",
        b'{"text": "\xe4"}',
        b"[" * 100_000,
        b'{"text":' * 100_000,
        b'{"text": "a", "beam_size": ' + b"9" * 5000 + b"}",
        b'{"text": "a\nb"}',
    ],
    ids=lambda body: repr(body[:12]),
)
def test_a_body_that_is_not_json_is_refused(client: httpx.Client, body: bytes) -> None:
    assert_is_error(client.post(URL, content=body, headers=JSON), 400, "malformed_request")


@pytest.mark.parametrize("body", ["[1]", "1", '"text"', "null", "true", "NaN"])
def test_json_that_is_no_object_is_refused(client: httpx.Client, body: str) -> None:
    response = client.post(URL, content=body, headers=JSON)

    assert_is_error(response, 422, "invalid_input")
    assert [problem["field"] for problem in response.json()["error"]["fields"]] == ["body"]


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400, "-" + "9" * 4000]
)
@pytest.mark.parametrize("field", ["length_penalty", "beam_size"])
def test_numbers_beyond_all_ranges_are_refused(client: httpx.Client, field: str, number: str) -> None:
    response = client.post(URL, content=f'{{"text": "a", "{field}": {number}}}', headers=JSON)

    assert_is_error(response, 422, "invalid_input")


@pytest.mark.parametrize(
    "declared", ["", "text/plain", "application/x-www-form-urlencoded", "application/xml", ";"]
)
def test_a_body_not_declared_as_json_is_refused(client: httpx.Client, declared: str) -> None:
    headers = {"Content-Type": declared} if declared else {}

    response = client.post(URL, content=b'{"text": "a"}', headers=headers)

    assert_is_error(response, 415, "unsupported_media_type")


@pytest.mark.parametrize("declared", ["application/json; charset=utf-8", "Application/JSON"])
def test_json_may_be_declared_in_any_case_and_with_a_charset(client: httpx.Client, declared: str) -> None:
    response = client.post(URL, content='{"text": "ä"}'.encode(), headers={"Content-Type": declared})

    assert response.json()["translations"][0]["text"] == "Ä"


@pytest.mark.parametrize(
    ("unknown", "field", "problem"),
    [
        ({"x" * 100_000: 1}, "x", "Extra inputs are not permitted"),
        (
            {f"x{number}": 1 for number in range(50_000)},
            "body",
            "50001 fields; known are text, source, target, ",
        ),
    ],
    ids=["long", "many"],
)
def test_unknown_names_get_one_short_answer(
    client: httpx.Client, unknown: dict[str, int], field: str, problem: str
) -> None:
    response = client.post(URL, json={"text": "a"} | unknown)

    assert_is_error(response, 422, "invalid_input")
    [told] = response.json()["error"]["fields"]
    assert told["field"].startswith(field)
    assert told["problem"].startswith(problem)
    assert len(response.content) < 1000


@pytest.mark.parametrize(
    ("method", "path", "status", "kind", "allowed"),
    [
        ("GET", "/unknown", 404, "not_found", None),
        ("POST", "/v1/translate/", 404, "not_found", None),
        ("GET", "/v1/translate", 405, "method_not_allowed", "POST"),
        ("DELETE", "/v1/models", 405, "method_not_allowed", "GET"),
    ],
)
def test_unknown_routes_and_methods_have_the_form_of_all_errors(
    client: httpx.Client, method: str, path: str, status: int, kind: str, allowed: str | None
) -> None:
    response = client.request(method, path)

    assert_is_error(response, status, kind)
    assert response.headers.get("allow") == allowed


def test_an_unexpected_error_tells_neither_client_nor_log_the_text(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    response = client.post(URL, json={"text": "explode geheim"})

    assert_is_error(response, 500, "internal")
    assert response.json()["error"]["fields"] == []
    told = response.text + caplog.text
    assert "geheim" not in told
    assert "Traceback" not in response.text
    assert "RuntimeError" in caplog.text
    assert "in _translate" in caplog.text
    assert client.post(URL, json={"text": "a"}).status_code == 200, "the server goes on"


def test_a_body_over_the_limit_is_refused_by_the_size_it_announces(client: httpx.Client) -> None:
    head = b"POST /v1/translate HTTP/1.1\r\nHost: test\r\nContent-Length: 1048577\r\n\r\n"
    with socket.create_connection(
        (client.base_url.host, client.base_url.port or 0), timeout=10
    ) as connection:
        connection.sendall(head)

        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("are_chunks", [False, True], ids=["announced", "in chunks"])
def test_a_body_may_have_just_the_limit_and_no_more(serve: Serve, *, are_chunks: bool) -> None:
    client = serve(max_body_bytes=1000)

    def send(num_characters: int) -> httpx.Response:
        body = b'{"text": "' + b"a" * num_characters + b'"}'
        return client.post(URL, content=iter([body[:300], body[300:]]) if are_chunks else body, headers=JSON)

    assert send(988).json()["translations"][0]["text"] == "A" * 988
    assert_is_error(send(989), 413, "too_large")
    assert "1000 bytes" in send(989).json()["error"]["message"]


@pytest.mark.parametrize(
    ("limits", "allowed", "refused", "problem"),
    [
        ({"max_texts": 3}, {"text": ["a"] * 3}, {"text": ["a"] * 4}, "4 texts exceed the limit of 3"),
        ({"max_characters": 10}, {"text": ["a" * 10]}, {"text": ["a" * 6, "b" * 5]}, "11 characters exceed"),
        (
            {"max_characters": 10},
            {"text": "a" * 6, "target_prefix": "b" * 4},
            {"text": "a" * 6, "target_prefix": "b" * 5},
            "11 characters (with target_prefix) exceed the limit of 10",
        ),
    ],
    ids=["texts", "characters", "prefix"],
)
def test_too_many_texts_or_characters_are_refused_naming_the_limit(
    serve: Serve, limits: dict[str, int], allowed: object, refused: object, problem: str
) -> None:
    client = serve(**limits)

    response = client.post(URL, json=refused)

    assert_is_error(response, 413, "too_large")
    [told] = response.json()["error"]["fields"]
    assert told["field"] == "text"
    assert problem in told["problem"]
    assert client.post(URL, json=allowed).status_code == 200


def test_a_refused_request_disturbs_no_other(client: httpx.Client) -> None:
    bodies = [{"text": ["unusable", "a"]} if number % 3 == 0 else {"text": ["a"]} for number in range(30)]

    with ThreadPoolExecutor(8) as clients:
        statuses = list(clients.map(lambda body: client.post(URL, json=body).status_code, bodies))

    assert statuses == [422 if number % 3 == 0 else 200 for number in range(30)]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("source", "x" * 100_000),
        ("target", "de-" + "x" * 100_000),
        ("model", "x" * 100_000),
        ("splitting", "x" * 100_000),
        ("max_length", -(10**4000)),
        ("min_length", -(10**4000)),
        ("num_hypotheses", 10**4000),
        ("sampling", {"top_k": -(10**4000)}),
        ("target_prefix", "x" * 100_000),
    ],
)
def test_a_value_out_of_range_is_not_sent_back_whole(client: httpx.Client, field: str, value: object) -> None:
    response = client.post(URL, json={"text": "a", field: value})

    assert response.status_code in {413, 422}
    assert len(response.content) < 1000
