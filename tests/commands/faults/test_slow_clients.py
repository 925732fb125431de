"""Clients that take their time over what they say hold up nobody else, and not for ever."""

import selectors
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from tests.commands.faults.conftest import URL, Server, serving

NUM_HEADS, NUM_BODIES = 200, 50
PATIENCE_S = 1
MAX_ROUNDS = 300
HEAD = f"POST {URL} HTTP/1.1\r\nHost: test\r\n".encode()
BODY = HEAD + b'Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{"text": "'
OK = httpx.codes.OK


class Dribbler:
    """A connection on which a byte comes now and then, until the server has had enough."""

    def __init__(self, address: tuple[str, int], beginning: bytes) -> None:
        self.heard, self.is_over = b"", False
        self._connection = socket.create_connection(address)
        self._connection.sendall(beginning)
        self._connection.settimeout(0)

    def go_on(self) -> None:
        """Listen, and say one byte more."""
        if self.is_over:
            return
        try:
            while heard := self._connection.recv(4096):
                self.heard += heard
            self.is_over = True
        except BlockingIOError:
            with suppress(ConnectionError):  # what it was told is there to be read still
                self._connection.send(b"a")
        except ConnectionError:
            self.is_over = True

    def close(self) -> None:
        self._connection.close()


def dribble(server: Server, beginnings: list[bytes], meanwhile: Callable[[], None]) -> list[Dribbler]:
    """Until the server has closed all connections; between the bytes, something else is done."""
    clients = [Dribbler(server.address, beginning) for beginning in beginnings]
    try:
        for _ in range(MAX_ROUNDS):
            for client in clients:
                client.go_on()
            meanwhile()
            if all(client.is_over for client in clients):
                return clients
            selectors.DefaultSelector().select(0.05)
    finally:
        for client in clients:
            client.close()
    raise AssertionError(f"{sum(not client.is_over for client in clients)} connections are open still")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    settings = {"client_timeout_s": PATIENCE_S, "segment_cache_size": 0, "log_level": "warning"}
    with serving(tmp_path_factory.mktemp("server") / "server.log", settings) as running:
        yield running


def test_slow_headers_are_disconnected_and_slow_bodies_rejected_while_others_are_answered(
    server: Server,
) -> None:
    beginnings = [HEAD + b"X-Slow: "] * NUM_HEADS + [BODY] * NUM_BODIES
    answered: list[int] = []

    def ask() -> None:
        answered.append(server.client.post(URL, json={"text": f"Satz {len(answered)}."}).status_code)

    clients = dribble(server, beginnings, ask)

    assert len(answered) > 1
    assert set(answered) == {OK}
    assert {client.heard for client in clients[:NUM_HEADS]} == {b""}
    for client in clients[NUM_HEADS:]:
        head, _, body = client.heard.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ")
        assert b"connection: close" in head.lower()
        assert b'"client_timeout"' in body
    assert server.client.get("/readyz").status_code == OK


def test_a_slow_body_after_its_response_is_disconnected(server: Server) -> None:
    beginning = b"POST /nothing HTTP/1.1\r\nHost: test\r\nContent-Length: 100000\r\n\r\n"

    [client] = dribble(server, [beginning], lambda: None)

    assert client.heard.startswith(b"HTTP/1.1 404 ")


def test_an_idle_new_connection_is_closed(server: Server) -> None:
    with ExitStack() as opened:
        connections = [opened.enter_context(socket.create_connection(server.address, 60)) for _ in range(20)]
        assert [connection.recv(1) for connection in connections] == [b""] * 20
