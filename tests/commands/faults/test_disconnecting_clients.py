"""Clients that leave before they are answered take their work with them."""

import itertools
import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import pairwise

import httpx
import pytest

from tests.commands.faults.conftest import URL, Server, StartServer
from tests.engine.routing.doubles import until

NUM_ROUNDS = 5
NUM_CLIENTS = 200
"""Of each round."""
AT_A_TIME = 100
TEXT_BYTES = 40_000
"""Of each: what they all sent would be seen in the server's memory if it were kept."""
SENTENCE = "Das Kind spielt mit dem Hund im Garten. "
OK = httpx.codes.OK


@pytest.fixture
def server(start_server: StartServer) -> Server:
    return start_server(segment_cache_size=0, log_level="warning")


def long_request(number: int) -> bytes:
    """No two are the same, so that none shares the work of another."""
    text = f"Nummer {number}. " + SENTENCE * (TEXT_BYTES // len(SENTENCE))
    body = json.dumps({"text": text}).encode()
    return (
        f"POST {URL} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body


def come_and_leave(server: Server, numbers: Iterator[int]) -> None:
    for _ in range(NUM_CLIENTS // AT_A_TIME):
        with ExitStack() as connections:
            for _ in range(AT_A_TIME):
                connection = connections.enter_context(socket.create_connection(server.address, timeout=60))
                connection.sendall(long_request(next(numbers)))
            until(lambda: server.gauge("segments_running") > 0)


@pytest.mark.timeout(180)
def test_disconnected_clients_leave_no_work_and_no_memory(server: Server) -> None:
    wanted = server.translate(SENTENCE * 3)
    numbers = itertools.count()
    resident_bytes = []
    for _ in range(NUM_ROUNDS):
        come_and_leave(server, numbers)
        assert server.translate(SENTENCE * 3) == wanted
        until(server.is_idle)
        resident_bytes.append(server.resident_bytes())

    # What is kept grows in every round; what the allocator holds grows only with a new maximum in use.
    grown_bytes = min(after - before for before, after in pairwise(resident_bytes))
    assert grown_bytes < NUM_CLIENTS * TEXT_BYTES * 3 / 4
    done, given_up = (
        server.gauge("segments_total", f'ending="{ending}"') for ending in ("done", "cancelled")
    )
    assert given_up > done
    assert server.client.get("/readyz").status_code == OK
