"""Every route: bodies of every kind that it takes, queries and paths, and requests that are hardly HTTP."""

import json
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote_from_bytes, urlencode

from tests.formats.fuzz.reader_targets import JSON_TOKENS
from tests.formats.fuzz.target import Target, World, encode, seeded
from tests.service.openapi.documented import DOCUMENT, assert_fits, examples_of

TIMEOUT_S = 20.0
BOUNDARY = b"limit"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY.decode()}"
JSON, FORM, LINES = "application/json", "application/x-www-form-urlencoded", "application/x-ndjson"
VISIBLE = bytes(range(0x21, 0x7F)).decode("ascii")
"""What a request's target may be made of."""
SERVER_FAILED = 500
UNAVAILABLE = {503, 504}
"""The engine's double may be told to be late or full, also by a text that was made at random."""

TOKENS = (
    *JSON_TOKENS,
    b"text",
    b"source",
    b"target",
    b"q",
    b"target_lang",
    b"de",
    b"en",
    b"\\u0000",
    b"\xff",
    b"\xed\xa0\x80",
    b"\0",
    b"&",
    b"=",
    b"%",
    b"%00",
    b"%ff",
    b"+",
    b"\r\n",
    b"--limit",
    b"--limit--\r\n",
    b'; filename="a.docx"',
    b"Content-Transfer-Encoding: base64\r\n",
    b'Content-Disposition: form-data; name="file"\r\n',
    b'; name="file"',
    b"<b>",
    b"</b>",
    b"&amp;",
    b'"tag_handling":"xml"',
    b'"format":"html"',
    encode("\ud800"),
)
RAW_SEEDS = (
    (
        b"POST /v1/translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 13\r\n"
        b'\r\n{"text": "a"}'
    ),
    (
        b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n3\r\nq=a\r\n0\r\n\r\n"
    ),
    b"GET /v2/languages?type=source HTTP/1.1\r\nHost: x\r\nAuthorization: DeepL-Auth-Key x\r\n\r\n",
    b"GET /v1/jobs/x/result HTTP/1.0\r\nRange: bytes=0-1\r\nIf-None-Match: x\r\n\r\n",
)
RAW_TOKENS = (
    b"\r\n",
    b"\n",
    b"\r\n\r\n",
    b" ",
    b":",
    b"\0",
    b"\xff",
    b"HTTP/9.9",
    b"Content-Length: -1\r\n",
    b"OPTIONS *",
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"ffffffffff\r\n",
    b"%",
    b"//",
    b"Expect: 100-continue\r\n",
    b"Upgrade: websocket\r\nConnection: upgrade\r\n",
    b"X: " + b"y" * 70_000,
    b"../",
    b"Content-Encoding: gzip\r\n",
    b"Authorization: \xe4\r\n",
    b"Content-Type: application/json; charset=x\r\n",
)


@dataclass(frozen=True, slots=True)
class Operation:
    """A method of a path, as the OpenAPI document has it."""

    method: str
    path: str
    described: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.described["operationId"]).replace("_", "-")

    @property
    def has_parameters(self) -> bool:
        return bool(self.described.get("parameters"))


def operations() -> Iterator[Operation]:
    for path, methods in DOCUMENT["paths"].items():
        for method, described in methods.items():
            yield Operation(method.upper(), path, described)


def check_body(operation: Operation, kind: str, world: World, data: bytes) -> None:
    """Whatever a body is, the answer is one that the document has for the route."""
    path = operation.path.replace("{", "").replace("}", "") + (
        "?source=de&target=en" if kind == LINES else ""
    )
    status, headers, body = ask(
        world,
        operation.method,
        path,
        {"Content-Type": MULTIPART if kind.startswith("multipart") else kind},
        data,
    )

    assert status != SERVER_FAILED, body
    assert str(status) in operation.described["responses"], (status, body)
    content = operation.described["responses"][str(status)].get("content", {})
    found = headers.get("content-type", "").partition(";")[0]
    assert found in content or not content, (status, found)
    if found == JSON and content:
        assert_fits(json.loads(body), content[found]["schema"], f"{operation.name} {status}")


def check_place(operation: Operation, world: World, data: bytes) -> None:
    """Whatever is asked for, the answer is JSON, and no failure of the server's."""
    status, headers, body = ask(world, operation.method, "/" + quote_from_bytes(data, safe=VISIBLE), {})

    assert status < SERVER_FAILED or status in UNAVAILABLE, body
    if status >= 400:
        assert headers.get("content-type", "").startswith(JSON), (status, headers)
        json.loads(body)


def check_raw(world: World, data: bytes) -> None:
    """Bytes that are hardly HTTP are answered or not, and the next request is."""
    url = world.client.base_url
    with socket.create_connection((url.host, url.port or 80), TIMEOUT_S) as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        except OSError:
            answer = b""  # it was closed before all was sent
    assert not answer.startswith(b"HTTP/1.1 500"), answer
    assert b"\r\nHTTP/1.1 500" not in answer, answer
    assert world.client.get("/healthz").status_code == 200


def ask(
    world: World, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
) -> tuple[int, dict[str, str], bytes]:
    """One request on a connection of its own: its status, headers and body."""
    url = world.client.base_url
    with closing(HTTPConnection(url.host, url.port, timeout=TIMEOUT_S)) as connection:
        with suppress(ConnectionError):  # refused before all was sent; what was answered is read
            connection.request(method, target, body, headers)
        response = connection.getresponse()
        return (
            response.status,
            {name.lower(): value for name, value in response.getheaders()},
            response.read(),
        )


def seeds_of(operation: Operation, kind: str) -> Sequence[bytes]:
    """Bodies that the document shows, as a client would send them."""
    shown = examples_of(operation.described["requestBody"]["content"][kind])
    write: Mapping[str, Callable[[Any], bytes]] = {
        JSON: lambda example: json.dumps(example).encode(),
        FORM: lambda example: urlencode(example, doseq=True).encode(),
        LINES: lambda example: encode(str(example)),
    }
    return [write.get(kind, _multipart)(example) for example in shown]


def _multipart(example: Mapping[str, object]) -> bytes:
    parts = []
    for name, value in {**example, "file": example.get("file", "Hallo")}.items():
        file_name = '; filename="a.txt"\r\nContent-Type: text/plain' if name == "file" else ""
        head = f'--limit\r\nContent-Disposition: form-data; name="{name}"{file_name}\r\n\r\n'
        parts.append(encode(f"{head}{value}\r\n"))
    return b"".join([*parts, b"--limit--\r\n"])


def place_of(operation: Operation) -> bytes:
    """A path with its parameters, and a query."""
    names = [each["name"] for each in operation.described["parameters"] if each["in"] == "query"]
    query = "&".join(f"{name}=de" for name in names)
    return f"{operation.path.lstrip('/')}?{query}".encode()


def _targets() -> Iterator[Target]:
    for operation in operations():
        for kind in operation.described.get("requestBody", {}).get("content", {}):
            name = f"http-{operation.name}-{kind.rpartition('/')[2]}"
            yield Target(
                name, seeded(seeds_of(operation, kind), TOKENS), partial(check_body, operation, kind)
            )
        if operation.has_parameters:
            check = partial(check_place, operation)
            yield Target(f"http-{operation.name}-query", seeded([place_of(operation)], TOKENS), check)
    yield Target("http-raw", seeded(RAW_SEEDS, RAW_TOKENS), check_raw)


TARGETS = tuple(_targets())
