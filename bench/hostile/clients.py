"""Hostile and ordinary clients, each on its own connections."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle
from random import Random
from urllib.parse import urlsplit

from bench.clients import (
    JSON,
    NO_RESPONSE,
    OK,
    TIMEOUT_S,
    Clock,
    PlainClient,
    Post,
    RequestOutcome,
    run_client,
    translation_request,
)
from bench.hostile.attacks import ALIKE, ATTACKS, GLOSSARY_KIND, MEMORY_KINDS, NUM_ENTRIES, with_key
from bench.hostile.patterns import MULTIPART

LEFT = -1
"""Stands for the status if the client disconnected before a response."""
NAMES = {NO_RESPONSE: "no answer", LEFT: "left"}
"""Names of the values that stand for a status."""
ACCEPTED, BUSY = 202, (429, 503)
MAX_RETRIES, RETRY_S = 60, 1.0
PAUSE_S = 0.1
"""Pause in seconds between two requests of a hostile client."""
POLL_S = 0.02
HALF_SENT_S = 3.0
ANNOUNCED_BYTES = 10 * 2**20
SEARCHED_TEXTS = 50
SLOW_PIECE_BYTES = 64
SLOW_PIECES = 40
SLOW_PAUSE_S = 0.1
SMALL_BUFFER_BYTES = 4096


ExpectedResponse = tuple[str, float]
"""The right response: text and score of a translation without other load."""


@dataclass(slots=True)
class Record:
    """Outcomes of all requests."""

    ordinary: list[RequestOutcome] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    """Texts whose response differed from the known one."""
    hostile: dict[str, list[RequestOutcome]] = field(default_factory=dict)
    """Outcomes of hostile requests, by kind."""

    @property
    def everything(self) -> list[RequestOutcome]:
        """Outcomes of all requests."""
        return [*self.ordinary, *(one for outcomes in self.hostile.values() for one in outcomes)]

    @property
    def num_requests(self) -> int:
        """Number of all requests."""
        return len(self.ordinary) + sum(map(len, self.hostile.values()))


@dataclass(frozen=True, slots=True)
class Site:
    """A server, with the key of ordinary clients, that of hostile ones, and a wrong one."""

    address: str
    key: str
    hostile_key: str
    wrong_key: str = "drg_0000000000000000_nobody"

    @asynccontextmanager
    async def connection(
        self, buffer_bytes: int = 0
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Open a connection that is aborted at the end; `buffer_bytes` limits the client's receive buffer."""
        reader, writer = await asyncio.open_connection(*urlsplit(self.address).netloc.split(":"))
        if buffer_bytes:
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def ask(self, request: Post, key: str | None = None) -> tuple[int, bytes]:
        """Send a request, by default with the valid key; return status and body as `PlainClient.send`."""
        with closing(PlainClient(self.address, TIMEOUT_S)) as client:
            return await client.send(with_key(request, self.key if key is None else key))

    async def look(self, path: str, method: str = "GET") -> tuple[int, bytes]:
        """Send a request without a body, with the valid key."""
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {self.key}\r\n"
        with closing(PlainClient(self.address, TIMEOUT_S)) as client:
            return await client.send(f"{head}Connection: close\r\n\r\n".encode())

    async def follow_job(self, job_id: str) -> int:
        """Look at a job until it ends; return the last status."""
        while True:
            status, body = await self.look(f"/v1/jobs/{job_id}")
            if status != OK or json.loads(body)["state"] not in {"queued", "running"}:
                return status
            await asyncio.sleep(POLL_S)


async def record_expected(site: Site, texts: Sequence[str]) -> dict[str, ExpectedResponse]:
    """Request the right responses one after the other; retry while the server is busy.

    Raises:
        RuntimeError: a request failed although there is no other load.
    """
    known = {}
    for text in texts:
        status, body = await site.ask(translation_request(text))
        for _ in range(MAX_RETRIES):
            if status not in BUSY:
                break
            await asyncio.sleep(RETRY_S)
            status, body = await site.ask(translation_request(text))
        if status != OK:
            raise RuntimeError(f"{status} for an ordinary text, while nothing else was asked")
        known[text] = _translation(body)
    return known


async def run_ordinary_client(
    site: Site,
    known: Mapping[str, ExpectedResponse],
    record: Record,
    clock: Clock,
    start: int,
    pause_s: float = 0.0,
) -> None:
    """Send known texts until the time is over, at least one, and compare the responses."""
    texts = cycle([*known][start:] + [*known][:start])

    async def ask() -> int:
        text = next(texts)
        status, body = await site.ask(translation_request(text))
        if status == OK and _translation(body) != known[text]:
            record.wrong.append(text)
        return status

    await run_client(ask, clock, record.ordinary, lambda status: pause_s if status == OK else PAUSE_S)


async def run_hostile_client(
    site: Site, kind: str, posts: Sequence[Post], record: Record, clock: Clock, seed: int
) -> None:
    """Send requests of one kind, drawn from `posts`, until the time is over, at least one."""
    site = replace(site, key=site.hostile_key)
    random = Random(seed)  # noqa: S311 -- a workload, no secret

    async def ask() -> int:
        try:
            # Unlike `wait_for`, it loses no cancellation that comes with a response.
            async with asyncio.timeout(TIMEOUT_S):
                return await BEHAVIOURS[kind](site, random, posts)
        except (OSError, TimeoutError):
            return NO_RESPONSE

    await run_client(ask, clock, record.hostile.setdefault(kind, []), lambda _: PAUSE_S)


async def _disconnect(site: Site, random: Random, posts: Sequence[Post], max_wait_s: float = PAUSE_S) -> int:
    """Send a request and disconnect almost at once, or at least before the response."""
    async with site.connection() as (_, writer):
        writer.write(with_key(random.choice(posts), site.key))
        await writer.drain()
        await asyncio.sleep(random.random() * max_wait_s)
    return LEFT


async def _send_half(site: Site, random: Random, posts: Sequence[Post]) -> int:
    """Send part of a request, wait, and disconnect."""
    request = with_key(random.choice(posts), site.key)
    async with site.connection() as (_, writer):
        writer.write(request[: random.randrange(1, len(request))])
        await asyncio.sleep(random.random() * HALF_SENT_S)
    return LEFT


async def _announce_much(site: Site, random: Random, _posts: Sequence[Post]) -> int:
    """Announce a large document with made-up credentials, send little of it, wait, and disconnect."""
    head = (
        f"POST /v2/document HTTP/1.1\r\nHost: x\r\nContent-Type: {MULTIPART}\r\n"
        f"Authorization: Basic {random.random()}\r\nContent-Length: {ANNOUNCED_BYTES}\r\n\r\n"
    )
    async with site.connection() as (_, writer):
        writer.write(head.encode() + b"-" * SLOW_PIECE_BYTES)
        await asyncio.sleep(random.random() * HALF_SENT_S)
    return LEFT


async def _read_slowly(site: Site, random: Random, posts: Sequence[Post]) -> int:
    """Read a long response in pieces of a few bytes, and disconnect before its end."""
    async with site.connection(SMALL_BUFFER_BYTES) as (reader, writer):
        writer.write(with_key(random.choice(posts), site.key))
        status = NO_RESPONSE
        for _ in range(SLOW_PIECES):
            piece = await reader.read(SLOW_PIECE_BYTES)
            if not piece:
                break
            status = status or int(piece[9:12])
            await asyncio.sleep(SLOW_PAUSE_S)
    return status


async def _use_memory(site: Site, random: Random, posts: Sequence[Post], kind: str) -> int:
    """Attack a large memory, or import it if it does not exist."""
    status, body = await site.look("/v1/memories")
    memories = json.loads(body)["memories"] if status == OK else []
    if not memories:
        return await _send(site, random, posts)
    memory = memories[0]["id"]
    if kind == "deleting a memory":
        return (await site.look(f"/v1/memories/{memory}", "DELETE"))[0]
    if kind == "leaving a search":
        body = json.dumps({"text": [f"{ALIKE}{random.random()}"] * SEARCHED_TEXTS, "memory": memory}).encode()
        return await _disconnect(site, random, [Post("/v1/translate", JSON, body)], HALF_SENT_S)
    new = {"source": f"{random.random()}", "target": "x"}
    body = json.dumps({"pairs": [new]}).encode()
    return await _send(site, random, [Post(f"/v1/memories/{memory}/pairs", JSON, body)])


async def _use_glossary(site: Site, random: Random, posts: Sequence[Post]) -> int:
    """Translate with a large glossary, or import it if it does not exist."""
    status, body = await site.look("/v1/glossaries")
    glossaries = json.loads(body)["glossaries"] if status == OK else []
    if not glossaries:
        return await _send(site, random, posts)
    words = [f"Wort{random.randrange(NUM_ENTRIES)}" for _ in range(SEARCHED_TEXTS)]
    content = {"text": words, "source": "de", "target": "en", "glossary": glossaries[0]["id"]}
    return await _send(site, random, [Post("/v1/translate", JSON, json.dumps(content).encode())])


async def _send_wrong_key(site: Site, random: Random, posts: Sequence[Post]) -> int:
    return (await site.ask(random.choice(posts), site.wrong_key))[0]


async def _send(site: Site, random: Random, posts: Sequence[Post]) -> int:
    return (await site.ask(random.choice(posts)))[0]


Behaviour = Callable[[Site, Random, Sequence[Post]], Awaitable[int]]
BEHAVIOURS: Mapping[str, Behaviour] = {
    **dict.fromkeys(ATTACKS, _send),
    "leaving": _disconnect,
    "half a request": _send_half,
    "slow reader": _read_slowly,
    "announced bytes": _announce_much,
    "leaving a check": partial(_disconnect, max_wait_s=HALF_SENT_S),
    "wrong key": _send_wrong_key,
    GLOSSARY_KIND: _use_glossary,
    **{kind: partial(_use_memory, kind=kind) for kind in sorted(MEMORY_KINDS)},
}
"""Functions that make one request of a kind and return its status, `NO_RESPONSE` or `LEFT`."""


def _translation(body: bytes) -> ExpectedResponse:
    [translation] = json.loads(body)["translations"]
    return translation["text"], translation["score"]
