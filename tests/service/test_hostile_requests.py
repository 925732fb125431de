"""Whatever a client sends, the answer is JSON of one form, and never the server's fault."""

import json
import socket

import httpx
import pytest

from bench.hostile.attacks import ATTACKS, draw_posts
from dragoman import InputError
from service.http.errors import MAX_LISTED_PROBLEMS, ApiError
from service.http.fields import check_surrogates
from service.translation.detection import detect
from tests.service.conftest import Serve

URL = "/v1/translate"
JSON = {"Content-Type": "application/json"}


def native_error(response: httpx.Response) -> tuple[int, str]:
    """Status and type of an error, after a look at its form."""
    assert response.headers["content-type"] == "application/json"
    [(name, error)] = response.json().items()
    assert name == "error"
    assert error.keys() == {"type", "message", "fields"}
    assert error["message"]
    return response.status_code, error["type"]


def assert_is_error(response: httpx.Response, status: int, kind: str) -> None:
    assert native_error(response) == (status, kind), response.text


# tests/formats/test_hostile_files.py reads small bombs.
@pytest.mark.parametrize("kind", [kind for kind in ATTACKS if kind != "file bomb"])
def test_attacks_get_no_errors_of_the_server(engine_client: httpx.Client, kind: str) -> None:
    for post in draw_posts(kind, ["ein hund", "eine katze"], count=4, divisor=1000):
        headers = {"Content-Type": post.content_type} if post.content_type else {}
        response = engine_client.post(post.path, content=post.body, headers=headers)
        assert response.status_code < 500, (post.path, response.text)
        assert response.json()


@pytest.mark.parametrize(
    ("unknown", "field", "problem"),
    [
        ({"x" * 100_000: 1}, "x", "is not known; known are text, "),
        ({f"x{number}": 1 for number in range(50_000)}, "body", "an object has 50001 fields, more than 100"),
    ],
    ids=["long", "many"],
)
def test_unknown_names_get_one_short_answer(
    client: httpx.Client, unknown: dict[str, int], field: str, problem: str
) -> None:
    response = client.post(URL, json={"text": "a"} | unknown)

    assert_is_error(response, 422, "invalid_input")
    [reported] = response.json()["error"]["fields"]
    assert reported["field"].startswith(field)
    assert reported["problem"].startswith(problem)
    assert len(response.content) < 1100


def test_a_body_over_the_limit_is_rejected_by_the_size_it_announces(client: httpx.Client) -> None:
    head = b"POST /v1/translate HTTP/1.1\r\nHost: test\r\nContent-Length: 1048577\r\n\r\n"
    address = client.base_url.host, client.base_url.port or 0
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(head)

        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(("head", "status"), [("POST /v1/translate", b"413"), ("PUT /v2/document", b"405")])
def test_a_client_that_first_sends_its_whole_body_reads_the_rejection(
    client: httpx.Client, head: str, status: bytes
) -> None:
    body = b"a" * 2**23
    headers = f"Host: test\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    address = client.base_url.host, client.base_url.port or 0
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(f"{head} HTTP/1.1\r\n{headers}".encode() + body)
        received = b"".join(iter(lambda: connection.recv(2**16), b""))

    assert received.startswith(b"HTTP/1.1 " + status)
    assert received.endswith(b"}")


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
def test_too_many_texts_or_characters_are_rejected_naming_the_limit(
    serve: Serve, limits: dict[str, int], allowed: object, refused: object, problem: str
) -> None:
    client = serve(**limits)

    response = client.post(URL, json=refused)

    assert_is_error(response, 413, "too_large")
    [reported] = response.json()["error"]["fields"]
    assert reported["field"] == "text"
    assert problem in reported["problem"]
    assert client.post(URL, json=allowed).status_code == 200


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("target", "de-" + "x" * 100_000),
        ("model", "x" * 100_000),
        ("max_length", -(10**4000)),
        ("num_hypotheses", 10**4000),
        ("sampling", {"top_k": -(10**4000)}),
        ("target_prefix", "x" * 100_000),
    ],
)
def test_a_value_out_of_range_is_not_sent_back_whole(client: httpx.Client, field: str, value: object) -> None:
    response = client.post(URL, json={"text": "a", field: value})

    assert response.status_code in {413, 422}
    assert len(response.content) < 1100


LONE = "a\ud800b"


@pytest.mark.parametrize(
    ("path", "body", "field", "status"),
    [
        ("/v1/translate", {"text": LONE}, "text", 422),
        ("/v1/translate", {"text": ["a", LONE], "source": "de"}, "text[1]", 422),
        ("/v1/translate", {"text": "a", "source": LONE}, "source", 422),
        ("/v1/translate/stream", {"text": [LONE]}, "text[0]", 422),
        ("/v1/score", {"pairs": [{"source": "a", "target": LONE}]}, "pairs[0].target", 422),
        ("/translate", {"q": LONE, "source": "auto", "target": "en"}, "q", 400),
        ("/translate", {"q": [LONE], "source": "de", "target": "en", "format": "html"}, "q[0]", 400),
        ("/v2/translate", {"text": [LONE], "target_lang": "EN", "tag_handling": "xml"}, "text[0]", 400),
        ("/v2/glossaries", {"name": LONE, "entries": "a\tb", "entries_format": "tsv"}, "name", 400),
        ("/v2/document", {"filename": LONE, "target_lang": "EN"}, "filename", 400),
    ],
)
def test_the_field_with_a_lone_surrogate_is_named(
    engine_client: httpx.Client, path: str, body: dict[str, object], field: str, status: int
) -> None:
    response = engine_client.post(path, content=json.dumps(body), headers=JSON)

    assert response.status_code == status
    assert f"{field}: lone surrogate U+D800 at character 1 (counted from 0)" in response.text


def test_the_detector_is_given_no_lone_surrogate() -> None:
    with pytest.raises(InputError, match="lone surrogate") as caught:
        detect(LONE, ["de", "en"])

    assert caught.value.field == "text"


@pytest.mark.parametrize(
    "body",
    [
        rb'{"text": "\ud83d\ude00 \\ud800 \uD83D\uDE00"}',
        json.dumps({"text": "\ue000\ud7ff😀"}).encode(),
        '{"text": "😀"}'.encode(),
        '{"text": "😀"}'.encode("utf-16"),
        b'{"text": "\\ud800',
        b"",
        rb'{"text": ' * 50_000,
    ],
    ids=range(7),
)
def test_pairs_escapes_and_what_is_no_json_pass(body: bytes) -> None:
    check_surrogates(body)


@pytest.mark.parametrize(
    "body",
    [
        rb'{"x": ["\ud83d", "\ude00\ud83d"]}',
        b'{"x": ["\xed\xa0\xbd", "\xed\xb8\x80"]}',
        '{"x": ["\ud83d", "\ude00"]}'.encode("utf-16-le", "surrogatepass"),
    ],
    ids=["escaped", "in UTF-8", "in UTF-16"],
)
def test_lone_surrogates_are_found_however_they_are_spelled(body: bytes) -> None:
    with pytest.raises(ApiError) as caught:
        check_surrogates(body)

    assert [problem.field for problem in caught.value.fields] == ["x[0]", "x[1]"]


def test_of_many_the_first_are_listed_and_long_names_are_cut() -> None:
    with pytest.raises(ApiError) as caught:
        check_surrogates(json.dumps({"n" * 1000: [LONE] * 5000, LONE: 1}).encode())

    assert len(caught.value.fields) == MAX_LISTED_PROBLEMS
    assert caught.value.message.startswith("5001 fields")
    assert len(caught.value.fields[0].field) < 100
