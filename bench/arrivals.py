"""Load generators: closed loop (each client waits for its response) and open loop (Poisson arrivals)."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from bench.clients import RequestOutcome, latencies_s

Ask = Callable[[str], Awaitable[int]]
"""Sends a text; returns the status of the response."""


@dataclass(frozen=True, slots=True)
class Load:
    """Results of all clients together."""

    requests: int
    errors: int
    requests_per_s: float
    """Successful requests per second, from the first request to the last response."""
    latencies_s: list[float]
    """Latencies of the successful requests, in no order."""


def poisson_arrivals(rate: float, count: int, seed: int) -> list[float]:
    """Return arrival times of `count` requests in seconds from the start, `rate` per second on average."""
    gaps = random.Random(seed)  # noqa: S311 -- arrivals, not secrets
    return list(accumulate(gaps.expovariate(rate) for _ in range(count)))


async def open_loop(ask: Ask, texts: Sequence[str], rate: float, seed: int) -> Load:
    """Send each text when it is due, however many are still waiting.

    Latency counts from when the request was due, so that a system that accepts requests late looks no faster.
    """
    began_s = time.perf_counter()

    async def send(text: str, due_s: float) -> RequestOutcome:
        await asyncio.sleep(began_s + due_s - time.perf_counter())
        return await _measure(ask, text, began_s, due_s)

    arrivals = poisson_arrivals(rate, len(texts), seed)
    return _load(await asyncio.gather(*map(send, texts, arrivals)))


async def closed_loop(ask: Ask, texts: Sequence[str], clients: int) -> Load:
    """Let each client send a text, wait for the response and take the next one from a shared list."""
    began_s = time.perf_counter()
    unsent = iter(texts)

    async def send_in_turn() -> list[RequestOutcome]:
        return [await _measure(ask, text, began_s, time.perf_counter() - began_s) for text in unsent]

    return _load([*chain(*await asyncio.gather(*(send_in_turn() for _ in range(clients))))])


async def _measure(ask: Ask, text: str, began_s: float, due_s: float) -> RequestOutcome:
    status = await ask(text)
    at_s = time.perf_counter() - began_s
    return RequestOutcome(at_s, at_s - due_s, status)


def _load(outcomes: Sequence[RequestOutcome]) -> Load:
    latencies = latencies_s(outcomes)
    return Load(
        requests=len(outcomes),
        errors=len(outcomes) - len(latencies),
        requests_per_s=len(latencies) / max(one.at_s for one in outcomes),
        latencies_s=latencies,
    )
