"""Clients that keep to no rules, and ordinary ones beside them, each on connections of its own."""

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

from bench.hostile.attacks import ATTACKS, translation_of
from bench.soak import Answered

NO_ANSWER = 0
"""In place of a status, where the connection ended without one."""
LEFT = -1
"""In place of a status, where the client left before there could be one."""
BUSY = {429, 503}
MAX_TRIES, RETRY_S = 60, 1.0
TIMEOUT_S = 120.0
PAUSE_S = 0.1
"""Between two requests of a hostile client."""
HALF_SENT_S = 3.0
SLOW_PIECE_BYTES = 64
SLOW_PIECES = 40
SLOW_PAUSE_S = 0.1
SMALL_BUFFER_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Known:
    """What is right: text and score of a translation that nobody disturbed."""

    text: str
    score: float


@dataclass(slots=True)
class Record:
    """What became of all requests."""

    ordinary: list[Answered] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Texts whose answer was another than the known one."""
    hostile: dict[str, list[Answered]] = field(default_factory=dict)
    """By kind."""


@dataclass(frozen=True, slots=True)
class Site:
    """A server to be asked, with a key for it."""

    address: str
    key: str
    wrong_key: str

    @asynccontextmanager
    async def connection(
        self, buffer_bytes: int = 0
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """One that is cut at the end; `buffer_bytes` says how little the client takes in."""
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
        """The status and the body of an answer; `NO_ANSWER` where there is no whole one in time."""
        try:
            async with asyncio.timeout(TIMEOUT_S), self.connection() as (reader, writer):
                try:
                    writer.write(request)
                    await writer.drain()
                except ConnectionError:
                    pass  # refused before all was sent; the answer is there to be read
                head = await reader.readuntil(b"\r\n\r\n")
                return int(head[9:12]), await reader.read()
        except (OSError, TimeoutError, asyncio.IncompleteReadError):
            return NO_ANSWER, b""


async def learn(site: Site, texts: Sequence[str]) -> dict[str, Known]:
    """The right answers, asked for one after the other; a queue that is still full is given time.

    Raises:
        RuntimeError: there is none, though nothing else is asked.
    """
    known = {}
    for text in texts:
        request = translation_of(text).encode(site.key)
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


async def ask_ordinary(
    site: Site, known: Mapping[str, Known], record: Record, until: "Clock", start: int
) -> None:
    """Ask for known texts until the time is over, once at least, and compare what comes."""
    texts = cycle([*known][start:] + [*known][:start])
    while True:
        text, began_s = next(texts), until.now_s()
        status, body = await site.ask(translation_of(text).encode(site.key))
        record.ordinary.append(Answered(until.now_s(), until.now_s() - began_s, status))
        if status == 200 and _translation(body) != known[text]:  # noqa: PLR2004 -- OK
            record.wrong.append(text)
        if status != 200:  # noqa: PLR2004 -- OK
            await asyncio.sleep(PAUSE_S)
        if until.is_over():
            return


async def attack(
    site: Site, kind: str, sentences: list[str], record: Record, until: "Clock", seed: int
) -> None:
    """Send requests of one kind until the time is over, one at least."""
    random = Random(seed)  # noqa: S311 -- a workload, no secret
    answers = record.hostile.setdefault(kind, [])
    while True:
        began_s = until.now_s()
        status = await BEHAVIOURS[kind](site, random, sentences)
        answers.append(Answered(until.now_s(), until.now_s() - began_s, status))
        await asyncio.sleep(PAUSE_S)
        if until.is_over():
            return


async def _leave(site: Site, random: Random, sentences: list[str]) -> int:
    """Ask for something and go at once."""
    async with site.connection() as (_, writer):
        writer.write(translation_of(" ".join(random.choices(sentences, k=20))).encode(site.key))
        await writer.drain()
        await asyncio.sleep(random.random() * PAUSE_S)
    return LEFT


async def _send_half(site: Site, random: Random, sentences: list[str]) -> int:
    """Begin a body, wait, and go."""
    request = translation_of(random.choice(sentences)).encode(site.key)
    async with site.connection() as (_, writer):
        writer.write(request[: random.randrange(1, len(request))])
        await asyncio.sleep(random.random() * HALF_SENT_S)
    return LEFT


async def _read_slowly(site: Site, random: Random, sentences: list[str]) -> int:
    """Take a long answer in by a few bytes, and go before its end."""
    text = " ".join(random.choices(sentences, k=50))
    async with site.connection(SMALL_BUFFER_BYTES) as (reader, writer):
        writer.write(translation_of(text).encode(site.key))
        status = NO_ANSWER
        for _ in range(SLOW_PIECES):
            piece = await reader.read(SLOW_PIECE_BYTES)
            if not piece:
                break
            status = status or int(piece[9:12])
            await asyncio.sleep(SLOW_PAUSE_S)
    return status


async def _send_wrong_key(site: Site, random: Random, sentences: list[str]) -> int:
    status, _ = await site.ask(translation_of(random.choice(sentences)).encode(site.wrong_key))
    return status


def _sending(kind: str) -> "Behaviour":
    async def send(site: Site, random: Random, sentences: list[str]) -> int:
        # Made on a thread: it takes long for some, and is not to count for those who wait beside it.
        request = await asyncio.to_thread(lambda: ATTACKS[kind](random, sentences).encode(site.key))
        status, _ = await site.ask(request)
        return status

    return send


def _surviving(behave: "Behaviour") -> "Behaviour":
    async def behave_on(site: Site, random: Random, sentences: list[str]) -> int:
        try:
            return await asyncio.wait_for(behave(site, random, sentences), TIMEOUT_S)
        except (OSError, TimeoutError):
            return NO_ANSWER

    return behave_on


Behaviour = Callable[[Site, Random, list[str]], Awaitable[int]]
BEHAVIOURS: Mapping[str, Behaviour] = {
    **{kind: _sending(kind) for kind in ATTACKS},
    "leaving": _surviving(_leave),
    "half a request": _surviving(_send_half),
    "slow reader": _surviving(_read_slowly),
    "wrong key": _send_wrong_key,
}
"""One request of a kind; its status, `NO_ANSWER` or `LEFT`."""


@dataclass(frozen=True, slots=True)
class Clock:
    """Since the load began."""

    began: float
    seconds: float

    def now_s(self) -> float:
        return time.perf_counter() - self.began

    def is_over(self) -> bool:
        return self.now_s() >= self.seconds


def _translation(body: bytes) -> Known:
    [translation] = json.loads(body)["translations"]
    return Known(translation["text"], translation["score"])
