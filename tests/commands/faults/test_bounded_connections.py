"""What a connection does, before and beside its requests, is bounded, and hurts no other."""

import select
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from tests.commands.faults.conftest import URL, Server, StartServer, serving
from tests.engine.routing.doubles import until
from tests.service.test_request_bodies import Connect, answer_of, connect

__all__ = ["connect"]

OK = httpx.codes.OK
HOST = b"Host: test\r\n"
ALIVE = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
POST = f"POST {URL} HTTP/1.1\r\n".encode() + HOST + b"Content-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"
JSON = b'{"text": "Ja."}'
LENGTH = f"Content-Length: {len(JSON)}\r\n".encode()
DOCUMENT = b"GET /openapi.json HTTP/1.1\r\n" + HOST + b"\r\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that a module's tests share."""
    with serving(tmp_path_factory.mktemp("server") / "server.log", {}) as running:
        yield running


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 20_000 + b"\r\n\r\n", b"16384 bytes"),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", b"16384 bytes"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 200_000, b"16384 bytes"),
        (ALIVE + b"GET / HTTP/1.1\r\n" + HOST + b"a:b\r\n" * 40_000 + b"\r\n", b"16384 bytes"),
        (b"GET / HTTP/1.1\r\n" + HOST + b"a:b\r\n" * 101 + b"\r\n", b"100 lines"),
        (CHUNKED + LENGTH + b"\r\n0\r\n\r\n", b"both Content-Length and Transfer-Encoding"),
        (CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n0\r\n\r\n", b"Transfer-Encoding"),
        (POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\na", b"not be read"),
        (POST + b"Content-Length: +5\r\n\r\n12345", b"not be read"),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", b"not be read"),
        (POST + LENGTH + b"Content-Type: text/plain\r\n\r\n" + JSON, b"Content-Type occurs twice"),
        (POST + LENGTH + b"X-API-Key: a\r\nX-API-Key: b\r\n\r\n" + JSON, b"X-API-Key occurs twice"),
        (POST + LENGTH + b"Authorization: a\r\nAuthorization: b\r\n\r\n", b"Authorization occurs twice"),
        (CHUNKED + b"\r\n" + b"1\r\na\r\n" * 3000, b"chunks"),
        (CHUNKED + b"\r\n0\r\n" + b"a:b\r\n" * 40_000, b"not be read"),
        (b"GET / HTTP/1.1\r\n\r\n", b"not be read"),
        (b"G\x00T / HTTP/1.1\r\n" + HOST + b"\r\n", b"not be read"),
    ],
    ids=lambda value: str(value[:40]),
)
def test_a_malformed_request_is_rejected_and_its_connection_closed(
    server: Server, connect: Connect, sent: bytes, problem: bytes
) -> None:
    connection = connect(server.client)
    with suppress(ConnectionError):
        connection.sendall(sent)
    if sent.startswith(ALIVE):
        assert answer_of(connection)[0] == OK

    status, body = answer_of(connection)

    assert status == 400
    assert b'"malformed_request"' in body
    assert problem in body
    with suppress(ConnectionError):
        assert connection.recv(1) == b""


@pytest.mark.parametrize(
    "sent",
    [
        CHUNKED
        + b"\r\n"
        + b"".join(b"%x\r\n%b\r\n" % (1, JSON[i : i + 1]) for i in range(len(JSON)))
        + b"0\r\n\r\n",
        CHUNKED + b"\r\nf\r\n" + JSON + b"\r\n0\r\nX-Trailer: a\r\n\r\n",
        POST + LENGTH + b"Upgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + JSON,
        POST + LENGTH + b"Accept: " + b"a/b," * 3000 + b"\r\n\r\n" + JSON,
        POST + LENGTH + b"If-None-Match: " + b'"a",' * 3000 + b"\r\n\r\n" + JSON,
        POST + LENGTH + b"a:b\r\n" * 90 + b"\r\n" + JSON,
        b"GET /healthz?" + b"a=%61&" * 2500 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    ],
    ids=["chunks", "trailer", "websocket", "accept", "if-none-match", "90 headers", "long query"],
)
def test_unusual_but_valid_requests_are_answered(server: Server, connect: Connect, sent: bytes) -> None:
    connection = connect(server.client, sent + ALIVE)

    assert answer_of(connection)[0] == OK
    assert answer_of(connection)[0] == OK  # what follows on the connection


@pytest.mark.parametrize(
    ("request_line", "status"),
    [
        ("GET /%00", 404),
        ("GET /v1/jobs/%00%ff%2e%2e%2f", 404),
        ("GET /download_file/%00.%ff", 404),
        ("GET /v1/jobs?limit=%00", 422),
        ("GET /v1/jobs?cursor=%ff", 400),
        ("HEAD /healthz", 200),
        ("HEAD /v1/translate", 405),
        ("OPTIONS *", 404),
        ("OPTIONS /v1/translate", 405),
        ("FOO /healthz", 405),
    ],
)
def test_odd_targets_and_methods_are_answered(
    server: Server, connect: Connect, request_line: str, status: int
) -> None:
    connection = connect(server.client, f"{request_line} HTTP/1.1\r\n".encode() + HOST + b"\r\n")

    assert answer_of(connection, has_body=not request_line.startswith("HEAD"))[0] == status


def test_garbage_after_an_early_response_closes_the_connection_without_a_failure(
    server: Server, connect: Connect
) -> None:
    connection = connect(
        server.client, b"POST /nothing HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\n"
    )
    assert answer_of(connection)[0] == 404

    connection.sendall(b"aaaaaaaa")

    assert connection.recv(1) == b""
    assert "Traceback" not in server.log.read_text()


def test_connections_are_limited_in_total_and_per_address_that_is_no_trusted_proxy(
    start_server: StartServer, connect: Connect
) -> None:
    server = start_server(max_connections=6, max_connections_of_address=2, trusted_proxies="127.0.1.0/24")
    server.client.close()
    here = [connect(server.client, ALIVE), connect(server.client, ALIVE)]
    assert [answer_of(one)[0] for one in here] == [OK, OK]

    status, body = answer_of(connect(server.client))
    assert (status, b"2 connections from this address" in body) == (429, True)
    elsewhere = [connect(server.client, ALIVE, f"127.0.0.{number}") for number in range(2, 6)]
    assert {answer_of(one)[0] for one in elsewhere} == {OK}
    status, body = answer_of(connect(server.client, b"", "127.0.0.6"))
    assert (status, b"6 connections" in body) == (429, True)

    here[0].close()
    # An address may have as many as it leaves to others.
    status, body = answer_of(connect(server.client))
    assert (status, b"1 connections from this address" in body) == (429, True)
    for one in elsewhere[:2]:
        one.close()
    until(lambda: answer_of(connect(server.client, ALIVE))[0] == OK)
    for one in (*here, *elsewhere):
        one.close()
    until(lambda: are_answered(server, connect, "127.0.1.1", 3))


def are_answered(server: Server, connect: Connect, source: str, count: int) -> bool:
    """Whether so many connections from one address are served at the same time."""
    with ExitStack() as opened:
        found = [opened.enter_context(connect(server.client, ALIVE, source)) for _ in range(count)]
        return {answer_of(one)[0] for one in found} == {OK}


def ask_and_read_nothing(server: Server, connect: Connect) -> None:
    """Ask for more than any buffer holds, over and over, until nothing more is taken or it is cut off."""
    connection = connect(server.client)
    connection.settimeout(0)
    with suppress(BlockingIOError, ConnectionError):
        while select.select([], [connection], [], 1)[1]:
            connection.send(DOCUMENT * 100)


def test_a_client_that_does_not_read_is_disconnected(start_server: StartServer, connect: Connect) -> None:
    server = start_server(client_timeout_s=1)
    ask_and_read_nothing(server, connect)

    until(lambda: server.gauge("requests_in_flight") <= 1)


def test_clients_that_do_not_read_or_never_end_do_not_delay_the_shutdown(
    start_server: StartServer, connect: Connect
) -> None:
    server = start_server(client_timeout_s=1000, stop_timeout_s=1)
    connect(server.client, CHUNKED + b"\r\n1\r\n{\r\n")
    ask_and_read_nothing(server, connect)
    until(lambda: server.gauge("requests_in_flight") > 2)

    assert server.stop() == 0
