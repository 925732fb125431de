"""Clients of a running service, each of which waits for its response, and what they measure.

In a load test the clients share the CPUs with the server, so that their CPU time is lost to the server:
`PlainClient` is a minimal HTTP/1.1 client with one persistent connection and one request at a time.
"""

import asyncio
import json
import math
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlsplit

from bench.workloads import SEED, read_lines

TIMEOUT_S, LONG_TIMEOUT_S = 120.0, 300.0
OK = 200
NO_RESPONSE = 0
"""Stands for the status if the connection failed or timed out."""
JSON = "application/json"
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)")


@dataclass(frozen=True, slots=True)
class Post:
    """A request."""

    path: str
    content_type: str
    body: bytes

    def encode(self, *headers: str) -> bytes:
        """Return the request as bytes, with further header lines."""
        lines = [f"POST {self.path} HTTP/1.1", "Host: localhost", *headers]
        lines += [f"Content-Type: {self.content_type}", f"Content-Length: {len(self.body)}", "", ""]
        return "\r\n".join(lines).encode("ascii") + self.body


def translation_request(text: str) -> Post:
    """Return a request for the translation of a text."""
    return Post("/v1/translate", JSON, json.dumps({"text": text, "source": "de", "target": "en"}).encode())


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """One request as its client measured it."""

    at_s: float
    """Time of the response since the load began."""
    latency_s: float
    status: int
    """HTTP status, or a value that stands for it."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time since the load began, and its planned length in seconds."""

    began: float
    seconds: float
    is_enough: Callable[[], bool] = lambda: False
    """Whether the load ends earlier."""

    def now_s(self) -> float:
        return time.perf_counter() - self.began

    def is_over(self) -> bool:
        return self.now_s() >= self.seconds or self.is_enough()


async def run_client(
    ask: Callable[[], Awaitable[int]],
    clock: Clock,
    outcomes: list[RequestOutcome],
    pause_s: Callable[[int], float],
) -> None:
    """Call `ask`, which returns a status, until the time is over, at least once; pause before each call."""
    status = OK
    while True:
        await asyncio.sleep(pause_s(status))
        began_s = clock.now_s()
        status = await ask()
        outcomes.append(RequestOutcome(clock.now_s(), clock.now_s() - began_s, status))
        if clock.is_over():
            return


def latencies_s(outcomes: Sequence[RequestOutcome], status: int = OK) -> list[float]:
    """Return the latencies of the requests with this status."""
    return [one.latency_s for one in outcomes if one.status == status]


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that a `share` of all values does not exceed; NaN if there are no values."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def percentiles_ms(latencies: Sequence[float], *percents: int) -> dict[str, float | None]:
    """Return percentiles of latencies in milliseconds, as `p50_ms` and the like; None without latencies."""
    return {
        f"p{percent}_ms": round(1e3 * percentile(latencies, percent / 100), 1) if latencies else None
        for percent in percents
    }


def count_statuses(outcomes: Sequence[RequestOutcome], names: Mapping[int, str]) -> dict[str, int]:
    """Count requests by status, or by its name."""
    counts = Counter(one.status for one in outcomes)
    return {names.get(status, str(status)): count for status, count in sorted(counts.items())}


def read_texts(path: Path, count: int) -> list[str]:
    """Read sentences in a fixed random order, repeated if there are too few."""
    lines = read_lines(path)
    random.Random(SEED).shuffle(lines)  # noqa: S311 -- a workload, no secret
    return list(islice(cycle(lines), count))


class PlainClient:
    """Client of one server, which connects at the first request and again after the connection was closed."""

    def __init__(self, address: str, timeout_s: float) -> None:
        self._netloc, self._timeout_s = urlsplit(address).netloc, timeout_s
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; return status and body, or `NO_RESPONSE` without a complete response in time."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._exchange(request)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            self.close()
            return NO_RESPONSE, b""

    async def _exchange(self, request: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._netloc.split(":"))
        reader, writer = self._streams
        writer.write(request)
        with suppress(ConnectionError):  # rejected before all was sent; the response can still be read
            await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        length = _LENGTH.search(head)
        body = await (reader.readexactly(int(length[1])) if length else reader.read())
        if length is None or b"\r\nconnection: close\r\n" in head:
            self.close()
        return int(head[9:12]), body

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._streams is not None:
            self._streams[1].transport.abort()
        self._streams = None


@contextmanager
def http_client(address: str, options: Mapping[str, object]) -> Iterator[Callable[[str], Awaitable[int]]]:
    """Yield a function that sends texts with options to a running server, each over its own connection."""
    idle = list[PlainClient]()

    async def send(text: str) -> int:
        client = idle.pop() if idle else PlainClient(address, LONG_TIMEOUT_S)
        body = json.dumps({"text": text, **options}).encode()
        status, _ = await client.send(Post("/v1/translate", JSON, body).encode())
        idle.append(client)
        return status

    try:
        yield send
    finally:
        for client in idle:
            client.close()
