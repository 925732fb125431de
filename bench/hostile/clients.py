"""Hostile and ordinary clients, each on its own connections."""

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle
from random import Random
from urllib.parse import urlsplit

from bench.hostile.attacks import ATTACKS, translation_request
from bench.soak import RequestOutcome

NO_RESPONSE = 0
"""Stands for the status if the connection ended without a response or the response timed out."""
LEFT = -1
"""Stands for the status if the client disconnected before a response."""
BUSY = {429, 503}
MAX_TRIES, RETRY_S = 60, 1.0
TIMEOUT_S = 120.0
PAUSE_S = 0.1
"""Pause in seconds between two requests of a hostile client."""
HALF_SENT_S = 3.0
SLOW_PIECE_BYTES = 64
SLOW_PIECES = 40
SLOW_PAUSE_S = 0.1
SMALL_BUFFER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class ExpectedResponse:
    """The right response: text and score of a translation without other load."""

    text: str
    score: float


@dataclass(slots=True)
class Record:
    """Outcomes of all requests."""

    ordinary: list[RequestOutcome] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Texts whose response differed from the known one."""
    hostile: dict[str, list[RequestOutcome]] = field(default_factory=dict)
    """Outcomes of hostile requests, by kind."""


@dataclass(frozen=True, slots=True)
class Site:
    """A server, with a valid key and a wrong one."""

    address: str
    key: str
    wrong_key: str

    @asynccontextmanager
    async def connection(
        self, buffer_bytes: int = 0
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open a connection that is aborted at the end; `buffer_bytes` limits the client's receive buffer."""
        parts = urlsplit(self.address)
        one = socket.socket()
        one.setblocking(False)  # noqa: FBT003 -- its only argument
        if buffer_bytes:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        try:
            await asyncio.get_running_loop().sock_connect(one, (parts.hostname, parts.port))
        except BaseException:
            one.close()
            raise
        reader, writer = await asyncio.open_connection(sock=one)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Send a request; return status and body, or `NO_RESPONSE` without a complete response in time."""
        try:
            async with asyncio.timeout(TIMEOUT_S), self.connection() as (reader, writer):
                try:
                    writer.write(request)
                    await writer.drain()
                except ConnectionError:
                    pass  # rejected before all was sent; the response can still be read
                head = await reader.readuntil(b"\r\n\r\n")
                return int(head[9:12]), await reader.read()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            return NO_RESPONSE, b""


async def record_expected(site: Site, texts: Sequence[str]) -> dict[str, ExpectedResponse]:
    """Request the right responses one after the other; retry while the server is busy.

    Raises:
        RuntimeError: a request failed although there is no other load.
    """
    known = {}
    for text in texts:
        request = translation_request(text).encode(site.key)
        status, body = await site.ask(request)
        for _ in range(MAX_TRIES):
            if status not in BUSY:
                break
            await asyncio.sleep(RETRY_S)
            status, body = await site.ask(request)
        if status != 200:  # noqa: PLR2004 -- OK
            raise RuntimeError(f"{status} for an ordinary text, while nothing else was asked")
        known[text] = _translation(body)
    return known


async def run_ordinary_client(
    site: Site, known: Mapping[str, ExpectedResponse], record: Record, clock: "Clock", start: int
) -> None:
    """Send known texts until the time is over, at least one, and compare the responses."""
    texts = cycle([*known][start:] + [*known][:start])
    while True:
        text, began_s = next(texts), clock.now_s()
        status, body = await site.ask(translation_request(text).encode(site.key))
        record.ordinary.append(RequestOutcome(clock.now_s(), clock.now_s() - began_s, status))
        if status == 200 and _translation(body) != known[text]:  # noqa: PLR2004 -- OK
            record.wrong.append(text)
        if status != 200:  # noqa: PLR2004 -- OK
            await asyncio.sleep(PAUSE_S)
        if clock.is_over():
            return


async def run_hostile_client(
    site: Site, kind: str, sentences: list[str], record: Record, clock: "Clock", seed: int
) -> None:
    """Send requests of one kind until the time is over, at least one."""
    random = Random(seed)  # noqa: S311 -- a workload, no secret
    answers = record.hostile.setdefault(kind, [])
    while True:
        began_s = clock.now_s()
        status = await BEHAVIOURS[kind](site, random, sentences)
        answers.append(RequestOutcome(clock.now_s(), clock.now_s() - began_s, status))
        await asyncio.sleep(PAUSE_S)
        if clock.is_over():
            return


async def _disconnect_early(site: Site, random: Random, sentences: list[str]) -> int:
    """Send a request and disconnect almost at once."""
    async with site.connection() as (_, writer):
        writer.write(translation_request(" ".join(random.choices(sentences, k=20))).encode(site.key))
        await writer.drain()
        await asyncio.sleep(random.random() * PAUSE_S)
    return LEFT


async def _send_half(site: Site, random: Random, sentences: list[str]) -> int:
    """Send part of a request, wait, and disconnect."""
    request = translation_request(random.choice(sentences)).encode(site.key)
    async with site.connection() as (_, writer):
        writer.write(request[: random.randrange(1, len(request))])
        await asyncio.sleep(random.random() * HALF_SENT_S)
    return LEFT


async def _read_slowly(site: Site, random: Random, sentences: list[str]) -> int:
    """Read a long response in pieces of a few bytes, and disconnect before its end."""
    text = " ".join(random.choices(sentences, k=50))
    async with site.connection(SMALL_BUFFER_BYTES) as (reader, writer):
        writer.write(translation_request(text).encode(site.key))
        status = NO_RESPONSE
        for _ in range(SLOW_PIECES):
            piece = await reader.read(SLOW_PIECE_BYTES)
            if not piece:
                break
            status = status or int(piece[9:12])
            await asyncio.sleep(SLOW_PAUSE_S)
    return status


async def _send_wrong_key(site: Site, random: Random, sentences: list[str]) -> int:
    status, _ = await site.ask(translation_request(random.choice(sentences)).encode(site.wrong_key))
    return status


def _make_sender(kind: str) -> "Behaviour":
    async def send(site: Site, random: Random, sentences: list[str]) -> int:
        # Some requests take long to make: on a thread, that does not delay the other clients.
        request = await asyncio.to_thread(lambda: ATTACKS[kind](random, sentences).encode(site.key))
        status, _ = await site.ask(request)
        return status

    return send


def _with_timeout(behave: "Behaviour") -> "Behaviour":
    async def behave_on(site: Site, random: Random, sentences: list[str]) -> int:
        try:
            return await asyncio.wait_for(behave(site, random, sentences), TIMEOUT_S)
        except (OSError, TimeoutError):
            return NO_RESPONSE

    return behave_on


Behaviour = Callable[[Site, Random, list[str]], Awaitable[int]]
BEHAVIOURS: Mapping[str, Behaviour] = {
    **{kind: _make_sender(kind) for kind in ATTACKS},
    "leaving": _with_timeout(_disconnect_early),
    "half a request": _with_timeout(_send_half),
    "slow reader": _with_timeout(_read_slowly),
    "wrong key": _send_wrong_key,
}
"""Functions that make one request of a kind and return its status, `NO_RESPONSE` or `LEFT`."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Time since the load began, and its planned length in seconds."""

    began: float
    seconds: float

    def now_s(self) -> float:
        return time.perf_counter() - self.began

    def is_over(self) -> bool:
        return self.now_s() >= self.seconds


def _translation(body: bytes) -> ExpectedResponse:
    [translation] = json.loads(body)["translations"]
    return ExpectedResponse(translation["text"], translation["score"])
