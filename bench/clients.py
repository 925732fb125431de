"""Clients of a running service, each of which waits for its response, and what they measure.

In a load test the clients share the CPUs with the server, so that their CPU time is lost to the server:
`PlainClient` is a minimal HTTP/1.1 client with one persistent connection and one request at a time.
"""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from bench.peers.arrivals import PoolFront, percentile
from bench.workloads import SEED, read_lines

TIMEOUT_S, LONG_TIMEOUT_S = 120.0, 300.0
OK, TOO_MANY_REQUESTS = 200, 429
NO_RESPONSE = 0
"""Stands for the status if the connection failed or timed out."""
_LENGTH = b"\r\ncontent-length:"


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

    def now_s(self) -> float:
        return time.perf_counter() - self.began

    def is_over(self) -> bool:
        return self.now_s() >= self.seconds


def body_of(text: str) -> dict[str, str]:
    """Return the body of a translation request."""
    return {"text": text, "source": "de", "target": "en"}


def no_pause(_status: int) -> float:
    return 0.0


async def run_client(
    ask: Callable[[], Awaitable[int]],
    clock: Clock,
    outcomes: list[RequestOutcome],
    pause_s: Callable[[int], float] = no_pause,
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


async def run_clients(
    address: str,
    texts: Sequence[str],
    clients: int,
    seconds: float,
    pause_s: Callable[[int], float] = no_pause,
) -> list[RequestOutcome]:
    """Let clients take texts from one list, begun again at its end; wait for every request that was sent."""
    clock, remaining = Clock(time.perf_counter(), seconds), cycle(texts)
    outcomes: list[RequestOutcome] = []

    async def run() -> None:
        async with aclosing(PlainClient(address, TIMEOUT_S)) as client:
            await run_client(
                lambda: client.post("/v1/translate", body_of(next(remaining))), clock, outcomes, pause_s
            )

    await asyncio.gather(*(run() for _ in range(clients)))
    return outcomes


def latencies_s(outcomes: Sequence[RequestOutcome], status: int = OK) -> list[float]:
    """Return the latencies of the requests with this status."""
    return [one.latency_s for one in outcomes if one.status == status]


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


def read_texts(path: Path, count: int, sentences_per_text: int = 1) -> list[str]:
    """Read sentences in a fixed random order, repeated if there are too few, as lines of texts."""
    lines = read_lines(path)
    random.Random(SEED).shuffle(lines)  # noqa: S311 -- a workload, no secret
    drawn = list(islice(cycle(lines), count))
    return [
        "\n".join(drawn[begin : begin + sentences_per_text]) for begin in range(0, count, sentences_per_text)
    ]


class PlainClient:
    """Client of one server, which connects at the first request and again after the connection was closed."""

    def __init__(self, address: str, timeout_s: float) -> None:
        self._netloc, self._timeout_s = urlsplit(address).netloc, timeout_s
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: Mapping[str, object]) -> int:
        """Send a request; return the status after the body is read, or `NO_RESPONSE` without one in time."""
        content = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: {self._netloc}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._exchange(head.encode("ascii") + content)
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            await self.aclose()
            return NO_RESPONSE

    async def _exchange(self, request: bytes) -> int:
        if self._streams is None:
            self._streams = await asyncio.open_connection(*self._netloc.split(":"))
        reader, writer = self._streams
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        begin = head.index(_LENGTH) + len(_LENGTH)
        await reader.readexactly(int(head[begin : head.index(b"\r\n", begin)]))
        if b"\r\nconnection: close\r\n" in head:
            await self.aclose()
        return int(head[9:12])

    async def aclose(self) -> None:
        """Close the connection, if there is one."""
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
            with suppress(OSError):  # the connection was broken already
                await streams[1].wait_closed()


@contextmanager
def http_front(address: str, options: Mapping[str, object], most_requests: int) -> Iterator[PoolFront]:
    """Yield a front that sends texts with options to a running service, `most_requests` at a time."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=64)

    def post(text: str) -> None:
        http.post("/v1/translate", json={"text": text, **options}).raise_for_status()

    with (
        httpx.Client(base_url=address, timeout=LONG_TIMEOUT_S, limits=limits) as http,
        closing(PoolFront(post, most_requests)) as front,
    ):
        yield front
