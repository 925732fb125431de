"""Whatever a client sends, the answer is JSON of one form, and never the server's fault."""

import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

URL = "/v1/translate"
JSON = {"Content-Type": "application/json"}
LONE_SURROGATES = ["\ud800", "\udfff", "a\udc00b", "\\\ud800"]

many_examples = settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
request_bodies = st.dictionaries(
    st.sampled_from(["text", "source", "beam_size", "length_penalty", "max_length"]) | st.text(max_size=5),
    json_values,
    max_size=5,
)


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
        b"",
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
    response = client.post(URL, content=body, headers=JSON)

    if body:
        assert_is_error(response, 400, "malformed_request")
    else:
        assert_is_error(response, 422, "invalid_input")


@pytest.mark.parametrize("body", ["[1]", "1", '"text"', "null", "true", "NaN"])
def test_json_that_is_no_object_is_refused(client: httpx.Client, body: str) -> None:
    response = client.post(URL, content=body, headers=JSON)

    assert_is_error(response, 422, "invalid_input")
    assert [problem["field"] for problem in response.json()["error"]["fields"]] == ["body"]


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400, "-" + "9" * 4000]
)
def test_numbers_beyond_all_ranges_are_refused(client: httpx.Client, number: str) -> None:
    for field in ("length_penalty", "beam_size"):
        response = client.post(URL, content=f'{{"text": "a", "{field}": {number}}}', headers=JSON)

        assert_is_error(response, 422, "invalid_input")


@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/xml", ";"]
)
def test_a_body_not_declared_as_json_is_refused(client: httpx.Client, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}

    response = client.post(URL, content=b'{"text": "a"}', headers=headers)

    assert_is_error(response, 415, "unsupported_media_type")


def test_a_charset_beside_the_content_type_is_fine(client: httpx.Client) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}

    response = client.post(URL, content='{"text": "ä"}'.encode(), headers=headers)

    assert response.json()["translations"][0]["text"] == "Ä"


@pytest.mark.parametrize("text", LONE_SURROGATES)
def test_a_lone_surrogate_in_a_text_is_refused(client: httpx.Client, text: str) -> None:
    response = client.post(URL, content=json.dumps({"text": text}), headers=JSON)

    assert_is_error(response, 422, "invalid_input")


@pytest.mark.parametrize("name", LONE_SURROGATES)
def test_a_lone_surrogate_in_a_name_or_language_is_refused(client: httpx.Client, name: str) -> None:
    for body in ({"text": "a", name: 1}, {"text": "a", "source": name}):
        response = client.post(URL, content=json.dumps(body), headers=JSON)

        assert_is_error(response, 422, "invalid_input")


def test_a_long_unknown_name_is_not_sent_back_whole(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": "a", "x" * 100_000: 1})

    assert_is_error(response, 422, "invalid_input")
    assert len(response.content) < 1000


def test_a_body_of_countless_unknown_names_gets_one_short_answer(client: httpx.Client) -> None:
    response = client.post(URL, json={"text": "a"} | {f"x{number}": 1 for number in range(50_000)})

    assert_is_error(response, 422, "invalid_input")
    [problem] = response.json()["error"]["fields"]
    assert problem["field"] == "body"
    assert problem["problem"].startswith("50001 fields; known are text, source, target, ")


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/unknown", 404, "not_found"),
        ("POST", "/v1/translate/", 404, "not_found"),
        ("GET", "/v1/translate", 405, "method_not_allowed"),
        ("DELETE", "/v1/models", 405, "method_not_allowed"),
    ],
)
def test_unknown_routes_and_methods_have_the_form_of_all_errors(
    client: httpx.Client, method: str, path: str, status: int, kind: str
) -> None:
    response = client.request(method, path)

    assert_is_error(response, status, kind)


def test_a_method_not_allowed_names_the_allowed(client: httpx.Client) -> None:
    assert client.get(URL).headers["allow"] == "POST"


def test_an_unexpected_error_tells_neither_client_nor_log_the_text(
    client: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    response = client.post(URL, json={"text": "explode geheim"})

    assert_is_error(response, 500, "internal")
    assert response.json()["error"]["fields"] == []
    assert "geheim" not in response.text
    assert "Traceback" not in response.text
    assert "geheim" not in caplog.text
    assert "RuntimeError" in caplog.text
    assert "in _translate" in caplog.text


def test_an_unexpected_error_leaves_the_server_serving(client: httpx.Client) -> None:
    client.post(URL, json={"text": "explode"})

    assert client.post(URL, json={"text": "a"}).status_code == 200


def test_a_body_over_the_limit_is_refused_by_the_size_it_announces(
    serve: Callable[..., httpx.Client],
) -> None:
    client = serve(max_body_bytes=1000)
    body = json.dumps({"text": "a" * 1000}).encode()

    response = client.post(URL, content=body, headers=JSON)

    assert_is_error(response, 413, "too_large")
    assert "1000 bytes" in response.json()["error"]["message"]


def test_a_body_announced_over_the_limit_is_refused_before_it_is_sent(client: httpx.Client) -> None:
    address = (client.base_url.host, client.base_url.port)
    head = b"POST /v1/translate HTTP/1.1\r\nHost: test\r\nContent-Length: 1048577\r\n\r\n"

    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(head)
        answer = connection.recv(1000)

    assert answer.startswith(b"HTTP/1.1 413 ")


def test_a_body_over_the_limit_is_refused_when_it_comes_in_chunks(serve: Callable[..., httpx.Client]) -> None:
    client = serve(max_body_bytes=1000)

    def chunks() -> Iterator[bytes]:
        yield b'{"text": "'
        for _ in range(50):
            yield b"a" * 100
        yield b'"}'

    response = client.post(URL, content=chunks(), headers=JSON)

    assert_is_error(response, 413, "too_large")


def test_a_body_of_just_the_limit_is_translated(serve: Callable[..., httpx.Client]) -> None:
    client = serve(max_body_bytes=1000)
    body = b'{"text": "' + b"a" * 988 + b'"}'
    assert len(body) == 1000

    for content in (body, iter([body[:300], body[300:]])):
        response = client.post(URL, content=content, headers=JSON)

        assert response.json()["translations"][0]["text"] == "A" * 988


@pytest.mark.parametrize(
    ("limit", "texts", "number"),
    [({"max_texts": 3}, ["a"] * 4, "4"), ({"max_characters": 10}, ["a" * 6, "b" * 5], "11")],
)
def test_too_many_texts_or_characters_are_refused_naming_the_limit(
    serve: Callable[..., httpx.Client], limit: dict[str, int], texts: list[str], number: str
) -> None:
    client = serve(**limit)

    response = client.post(URL, json={"text": texts})

    assert_is_error(response, 413, "too_large")
    [problem] = response.json()["error"]["fields"]
    assert problem["field"] == "text"
    assert number in problem["problem"]
    assert str(next(iter(limit.values()))) in problem["problem"]
    assert client.post(URL, json={"text": texts[:1]}).status_code == 200


def test_a_refused_request_disturbs_no_other(client: httpx.Client) -> None:
    bodies = [{"text": ["unusable", "a"]} if number % 3 == 0 else {"text": ["a"]} for number in range(30)]

    with ThreadPoolExecutor(8) as clients:
        statuses = list(clients.map(lambda body: client.post(URL, json=body).status_code, bodies))

    assert statuses == [422 if number % 3 == 0 else 200 for number in range(30)]


@many_examples
@given(body=request_bodies)
def test_any_json_is_answered_with_json_and_never_500(client: httpx.Client, body: dict[str, object]) -> None:
    response = client.post(URL, content=json.dumps(body), headers=JSON)

    assert response.status_code in {200, 422}
    assert isinstance(response.json(), dict)


@many_examples
@given(body=st.binary(max_size=40))
def test_any_bytes_are_answered_with_json_and_never_500(client: httpx.Client, body: bytes) -> None:
    response = client.post(URL, content=body, headers=JSON)

    assert response.status_code in {400, 422}
    assert isinstance(response.json(), dict)


def test_a_prefix_counts_among_the_characters(serve: Callable[..., httpx.Client]) -> None:
    client = serve(max_characters=10)

    response = client.post(URL, json={"text": "a" * 6, "target_prefix": "b" * 5})

    assert_is_error(response, 413, "too_large")
    assert "11 characters (with target_prefix) exceed the limit" in response.json()["error"]["message"]
    assert client.post(URL, json={"text": "a" * 6, "target_prefix": "b" * 4}).status_code == 200


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
