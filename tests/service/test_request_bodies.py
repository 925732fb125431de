"""Who makes a request is known before its body is read, and reading holds up nobody."""

import asyncio
import gzip
import json
import re
import select
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import parse_qsl

import httpx
import pytest
from fastapi import Request
from hypothesis import example, given
from hypothesis import strategies as st
from starlette.types import Message, Receive, Scope, Send

from service.http.errors import ErrorForms
from service.http.forms import FormError, read_multipart, read_urlencoded
from service.http.limits import BodyLimitMiddleware, BodyLimits
from service.http.request_bodies import (
    MAX_PARSED_ON_LOOP_BYTES,
    PIECE_BYTES,
    SPOOL_BYTES,
    Body,
    parsed,
    read_body,
)
from service.settings.settings import Settings
from tests.engine.routing.doubles import TIMEOUT_S, until
from tests.service.conftest import ALL_APIS, Serve
from tests.service.keys import Keys
from tests.service.test_hostile_requests import JSON, assert_is_error

BODY_PATHS = ("/v1/translate", "/v1/translate/stream", "/v1/score", "/v1/detect", "/v1/jobs")
OTHERS_PATHS = ("/translate", "/detect", "/suggest", "/translate_file", "/v2/translate", "/v2/document")
WRONG = f"drg_0123abcd_{'A' * 43}"
Connect = Callable[..., socket.socket]


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Send the beginning of a request on a connection of its own, from `source`."""
    with ExitStack() as opened:

        def begin(client: httpx.Client, beginning: bytes = b"", source: str = "127.0.0.1") -> socket.socket:
            address = (client.base_url.host, client.base_url.port or 0)
            connection = socket.create_connection(address, TIMEOUT_S, (source, 0))
            opened.enter_context(connection)
            connection.sendall(beginning)
            return connection

        yield begin


def head(path: str, length: int, *lines: str, kind: str = "application/json") -> bytes:
    named = [f"POST {path} HTTP/1.1", "Host: test", f"Content-Type: {kind}", f"Content-Length: {length}"]
    return "\r\n".join([*named, *lines, "", ""]).encode()


def answer_of(connection: socket.socket, *, has_body: bool = True) -> tuple[int, bytes]:
    """Status and body of what is answered next, and nothing of what follows."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        assert byte, f"closed after {head!r}"
        head += byte
    [length] = re.findall(rb"(?i)content-length: *([0-9]+)", head)
    body = b""
    while has_body and len(body) < int(length):
        body += connection.recv(int(length) - len(body))
    return int(head.split(b" ", 2)[1]), body


@pytest.mark.parametrize("lines", [(), (f"Authorization: Bearer {WRONG}",), (f"X-API-Key: {WRONG}",)])
def test_a_body_is_not_awaited_from_whom_has_no_key(
    serve: Serve, keys: Keys, connect: Connect, lines: tuple[str, ...]
) -> None:
    client = serve(database_url=keys.url, requires_key=True)

    for path in BODY_PATHS:
        assert answer_of(connect(client, head(path, 1000, *lines)))[0] == 401, path


def test_a_wrong_key_before_the_body_is_rejected_without_it(
    serve: Serve, keys: Keys, connect: Connect
) -> None:
    client = serve(apis=ALL_APIS, database_url=keys.url, requires_key=True)

    for path in OTHERS_PATHS:
        scheme, name = ("DeepL-Auth-Key", "auth_key") if path.startswith("/v2") else ("Bearer", "api_key")
        in_header = head(path, 1000, f"Authorization: {scheme} {WRONG}")
        in_query = head(f"{path}?{name}={WRONG}", 1000)
        assert [answer_of(connect(client, sent))[0] for sent in (in_header, in_query)] == [403, 403], path


def test_a_body_is_not_awaited_from_whom_comes_too_often(serve: Serve, keys: Keys, connect: Connect) -> None:
    client = serve(database_url=keys.url)
    key = keys.make(requests_per_minute=1)
    client.post("/v1/translate", json={"text": "ja"}, headers={"X-API-Key": key})

    for path in BODY_PATHS:
        assert answer_of(connect(client, head(path, 1000, f"X-API-Key: {key}")))[0] == 429, path


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/score", "/v1/translate/stream"])
def test_an_unreadable_body_counts_for_the_rate_limit(serve: Serve, path: str) -> None:
    client = serve(rate_limit="2/minute")

    statuses = [client.post(path, content=b"{", headers=JSON).status_code for _ in range(3)]

    assert statuses == [400, 400, 429]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/translate", {"text": [1] * 50_000}),
        ("/v1/score", {"pairs": [{"source": 1, "target": 1, "x": 1}] * 10_000}),
        ("/v1/score", {"pairs": [{f"x{number}": 1 for number in range(200)}] * 100}),
        ("/v1/translate", {"text": "a"} | {f"x{number}": 1 for number in range(90)}),
        ("/v1/translate", {"text": "a", "sampling": {f"x{number}": 1 for number in range(90)}}),
    ],
    ids=lambda value: str(value)[:60],
)
def test_no_body_has_more_errors_than_a_few(client: httpx.Client, path: str, body: dict[str, object]) -> None:
    response = client.post(path, json=body)

    assert_is_error(response, 422, "invalid_input")
    assert 1 <= len(response.json()["error"]["fields"]) <= 100
    assert "are listed" not in response.json()["error"]["message"]


@pytest.mark.parametrize("path", [*BODY_PATHS, *OTHERS_PATHS])
def test_a_compressed_body_is_rejected_and_the_answer_says_why(client: httpx.Client, path: str) -> None:
    packed = gzip.compress(json.dumps({"text": "ja", "q": "ja", "source": "de", "target": "en"}).encode())

    response = client.post(path, content=packed, headers={**JSON, "Content-Encoding": "gzip"})

    assert response.status_code == 415
    assert "Content-Encoding" in response.text


def rejected_of(connections: list[socket.socket]) -> bytes:
    """Take the only one that is answered out of several; what it was told."""
    answered, _, _ = select.select(connections, [], [], TIMEOUT_S)
    assert len(answered) == 1
    connections.remove(answered[0])
    status, body = answer_of(answered[0])
    assert status == 429
    return body


def test_bodies_under_way_are_bounded_in_all_and_for_each_address(serve: Serve, connect: Connect) -> None:
    client = serve(max_bodies=4, max_bodies_of_address=2)
    begun, rest = head("/v1/translate", 1000) + b'{"text": "', b"a" * 988 + b'"}'

    here = [connect(client, begun) for _ in range(3)]
    assert b"limit of 2 uploads in progress from this address" in rejected_of(here)
    elsewhere = [connect(client, begun, f"127.0.0.{number}") for number in range(2, 5)]
    assert b"limit of 4 uploads in progress is reached" in rejected_of(elsewhere)
    # Whole bodies wait for nobody.
    assert client.post("/v1/translate", json={"text": "ja"}).status_code == 200

    for connection in (*here, *elsewhere):
        connection.sendall(rest)
        assert answer_of(connection)[0] == 200
    for _ in range(3):
        connection = connect(client, begun)
        connection.sendall(rest)
        assert answer_of(connection)[0] == 200


def test_an_address_leaves_as_many_bodies_to_others_as_it_has(serve: Serve, connect: Connect) -> None:
    client = serve(max_bodies=4, max_bodies_of_address=4)
    begun = head("/v1/translate", 1000) + b'{"text": "'

    assert b"limit of 2 uploads in progress from this address" in rejected_of(
        [connect(client, begun) for _ in range(3)]
    )


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/translate", {"json": {"text": "a" * 2 * SPOOL_BYTES}}),
        ("/translate_file", {"files": {"file": ("a.txt", b"a" * (SPOOL_BYTES - 1000))}}),
    ],
    ids=["spooled body", "spooled upload"],
)
def test_a_body_without_disk_space_gets_503_with_a_retry_time(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, path: str, body: dict[str, Any]
) -> None:
    client = serve(apis=ALL_APIS)
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")

    response = client.post(path, **body)

    assert (response.status_code, "retry-after" in response.headers) == (503, True)
    assert client.post("/v1/translate", json={"text": "ja"}).status_code == 200


@pytest.mark.parametrize("piece", [None, b"a" * 11])
def test_a_body_that_fails_once_the_answer_has_begun_ends_it_as_a_client_does_that_leaves(
    piece: bytes | None,
) -> None:
    received: list[str] = []

    async def follow(_scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        received.append((await receive())["type"])

    async def receive() -> Message:
        if piece is None:
            await asyncio.Event().wait()
        return {"type": "http.request", "body": piece, "more_body": True}

    async def send(_message: Message) -> None:
        pass

    limits = BodyLimits(Settings(max_body_bytes=10, max_document_bytes=10, client_timeout_s=0.01))
    scope = {"type": "http", "path": "/", "headers": []}
    asyncio.run(BodyLimitMiddleware(follow, limits, ErrorForms())(scope, receive, send))

    assert received == ["http.disconnect"]


def test_temporary_files_are_closed_with_their_request(serve: Serve) -> None:
    client = serve(apis=ALL_APIS)
    open_files = Path("/proc/self/fd")
    before = len(list(open_files.iterdir()))

    for _ in range(5):
        client.post("/v1/translate", json={"text": "a" * 2 * SPOOL_BYTES})
        client.post("/translate_file", files={"file": ("a.txt", b"a" * 2 * SPOOL_BYTES)})
    client.close()

    until(lambda: len(list(open_files.iterdir())) <= before)


@given(st.lists(st.sampled_from(["a", "ä", "+", "%2B", "%", "%c3%a4", "&", "=", "%4", " ", ";"])))
@example(["%", "a", "a"])
def test_a_form_reads_as_the_standard_library_reads_it(pieces: list[str]) -> None:
    encoded = "".join(pieces)
    expected: dict[str, list[str]] = {}
    try:
        fields = parse_qsl(encoded, keep_blank_values=True, errors="strict")
    except UnicodeDecodeError:
        with pytest.raises(FormError, match="UTF-8"):
            read_urlencoded(encoded.encode())
        return
    for name, value in fields:
        expected.setdefault(name, []).append(value)

    assert read_urlencoded(encoded.encode()) == expected


@pytest.mark.parametrize("shift", [0, 1, 2, 3])
def test_an_escape_on_the_edge_of_two_pieces_is_one(shift: int) -> None:
    encoded = b"q=" + b"a" * (PIECE_BYTES - shift) + b"%c3%a4" * PIECE_BYTES

    assert read_urlencoded(encoded) == {"q": ["a" * (PIECE_BYTES - shift) + "ä" * PIECE_BYTES]}


def part(headers: bytes) -> bytes:
    return b"--b\r\n" + headers + b"\r\n\r\na\r\n"


NAMED = b'Content-Disposition: form-data; name="q"'


@pytest.mark.parametrize(
    ("form", "kind", "problem"),
    [
        (
            part(NAMED + b"".join(b"\r\nX%d: y" % number for number in range(8))),
            "b",
            "a part has more than 8 headers|malformed",  # the parser has such bounds itself
        ),
        (part(b"X: y"), "b", "a part has no name"),
        (part(NAMED + b"; x=" + b"y" * 9000), "b", "a header has more than 8192 bytes|malformed"),
        (part(NAMED + b"; x=" + b"y" * 4000) * 200, "b", "more than 524288 bytes together"),
        (part(NAMED + b'; filename="a"') * 9, "b", "more than 8 files"),
        (part(NAMED) * 4097, "b", "more than 4096 fields"),
        (part(NAMED), "b; " + "x=y; " * 2000, "its Content-Type has more than 8192 characters"),
        (part(NAMED), "", "its Content-Type names no boundary"),
    ],
    ids=lambda value: str(value)[-40:],
)
def test_parts_and_headers_of_a_form_are_bounded(form: bytes, kind: str, problem: str) -> None:
    files: list[BinaryIO] = []

    with pytest.raises(FormError, match=problem):
        read_multipart(f"multipart/form-data; boundary={kind}", Body(form + b"--b--\r\n"), files)

    assert len(files) <= 8
    for file in files:
        file.close()


def request_of(pieces: list[bytes], spooled: list[object]) -> Request:
    remaining = list(pieces)

    async def receive() -> dict[str, object]:
        piece = remaining.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(remaining)}

    scope = {"type": "http", "headers": [], "spooled": spooled}
    return Request(scope, receive)


@pytest.mark.parametrize("num_pieces", [1, 3, 4, 5, 100])
def test_memory_of_a_large_body_is_bounded(num_pieces: int) -> None:
    pieces = [bytes([number]) * (SPOOL_BYTES // 4) for number in range(num_pieces)]
    files: list[object] = []

    body = asyncio.run(read_body(request_of(pieces, files)))

    assert len(body.content) < SPOOL_BYTES
    assert body.read() == b"".join(pieces)
    assert len(files) == (num_pieces >= 4)
    for file in files:
        file.close()  # type: ignore[attr-defined]


def test_the_event_loop_goes_on_while_a_large_body_is_parsed() -> None:
    large = Body(b" " * (MAX_PARSED_ON_LOOP_BYTES + 1))

    async def main() -> list[str]:
        has_gone_on = threading.Event()
        order: list[str] = []

        def parse(body: Body) -> int:
            assert has_gone_on.wait(TIMEOUT_S)
            order.append("parsed")
            return len(body.read())

        async def go_on() -> None:
            order.append("went on")
            has_gone_on.set()

        parsing = asyncio.ensure_future(parsed(large, parse))
        await asyncio.sleep(0)
        await go_on()
        assert await parsing == len(large.content)
        return order

    assert asyncio.run(main()) == ["went on", "parsed"]


def test_parsing_takes_a_client_a_quarter_of_the_interpreter_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    worked_s, pauses_s = 0.0, list[float]()
    monkeypatch.setattr(time, "thread_time", lambda: worked_s)
    monkeypatch.setattr(time, "sleep", pauses_s.append)

    def parse(_: Body) -> None:
        nonlocal worked_s
        worked_s += 0.25
        raise FormError("it is malformed")

    with pytest.raises(FormError):
        asyncio.run(parsed(Body(b" " * (MAX_PARSED_ON_LOOP_BYTES + 1)), parse))

    assert pauses_s == [0.75]
