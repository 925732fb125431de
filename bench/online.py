"""Single requests over HTTP: throughput and latency of `dragoman serve` and of a plain server of CTranslate2.

Closed loop: each client waits for its response. Open loop: requests arrive at random (Poisson), at shares of
the rate that the reference reaches with 64 waiting clients; latency counts from when a request was due.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate, chain, cycle, islice
from typing import Any

from bench.clients import RequestOutcome, http_client, latencies_s, percentile
from bench.command import Options, show
from bench.contenders import REFERENCE, comparison, select_contenders, versions_of
from bench.models import CTRANSLATE2_INT8, TOKENIZER
from bench.rounds import interleave
from bench.server import ctranslate2_process, service_process
from bench.workloads import MAX_REAL_TOKENS, read_lines

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


WORKERS = 2
CLIENTS = (1, 8, 64)
LOADS = (0.25, 0.5, 0.75, 1.0)
HTTP_SERVICE, HTTP_REFERENCE = "HTTP service", f"{REFERENCE}, FastAPI"


@dataclass(frozen=True, slots=True)
class OfferedLoad:
    """The load on a server: waiting clients, or a rate of requests per second."""

    clients: int | None = None
    rate: float | None = None
    share: float | None = None
    """Share of the reference's rate."""


@dataclass(frozen=True, slots=True)
class Servers:
    """The running servers, and what is sent to them."""

    addresses: Mapping[str, str]
    texts: Sequence[str]
    options: Mapping[str, int]

    async def send(self, load: OfferedLoad, way: str, seed: int) -> Load:
        """Measure one server under one load."""
        with http_client(self.addresses[way], self.options) as ask:
            if load.clients is not None:
                return await closed_loop(ask, self.texts, load.clients)
            return await open_loop(ask, self.texts, load.rate or 0.0, seed)

    def measure(self, loads: Sequence[OfferedLoad], num_rounds: int) -> list[dict[str, Any]]:
        """Measure every server under every load, in turn, round by round."""
        found = interleave(loads, [*self.addresses], num_rounds, lambda *case: asyncio.run(self.send(*case)))
        return [summarise(way, load, rounds) for (load, way), rounds in found.items()]


def summarise(way: str, offered: OfferedLoad, loads: Sequence[Load]) -> dict[str, Any]:
    """Summarise all rounds: latencies pooled, throughput of the median round."""
    latencies = [latency for load in loads for latency in load.latencies_s]
    return {
        "way": way,
        **asdict(offered),
        "requests": sum(load.requests for load in loads),
        "errors": sum(load.errors for load in loads),
        "requests_per_s": sorted(load.requests_per_s for load in loads)[len(loads) // 2],
        **{f"p{percent}_ms": 1e3 * percentile(latencies, percent / 100) for percent in (50, 99)},
    }


def main() -> None:
    defaults: Options = {"--requests of each load and round": 400, "--rounds": 3, "--beam-size": 4}
    command = comparison("online", __doc__, defaults)
    arguments = command.parse()
    folder = arguments.folder
    contenders = [one for one in select_contenders(arguments) if "fp32" not in one.name]
    options = {"beam_size": arguments.beam_size, "max_length": MAX_REAL_TOKENS}
    texts = list(islice(cycle(read_lines(arguments.sentences)), arguments.requests))
    with (
        service_process(contenders[0].model, WORKERS, {}) as service,
        ctranslate2_process(folder / CTRANSLATE2_INT8, folder / TOKENIZER, WORKERS) as reference,
    ):
        addresses = {HTTP_SERVICE: service.address, HTTP_REFERENCE: reference.address}
        Servers(addresses, texts[: 2 * WORKERS], options).measure([OfferedLoad(clients=WORKERS)], 1)
        servers = Servers(addresses, texts, options)
        rows = servers.measure([OfferedLoad(clients) for clients in CLIENTS], arguments.rounds)
        rates = {(row["way"], row["clients"]): row["requests_per_s"] for row in rows}
        rate = rates[HTTP_REFERENCE, max(CLIENTS)]
        offered = [OfferedLoad(rate=share * rate, share=share) for share in LOADS]
        rows += servers.measure(offered, arguments.rounds)
    show(rows)
    figures = {"packages": versions_of(contenders), "workers": WORKERS, "rounds": arguments.rounds}
    command.write(contenders[0].model, {**figures, "beam_size": arguments.beam_size, "results": rows})


if __name__ == "__main__":
    main()
