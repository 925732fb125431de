"""Latency of short sentences while large texts are translated, and the engine's throughput meanwhile.

Starts the service on this machine's CPUs. While 0, 1, 4 or 16 clients send one large text after another, one
more client sends short sentences with pauses between them. Loads take turns and are repeated, so that other
activity of the machine affects all of them alike; the latencies of all rounds are pooled.
"""

import asyncio
import gc
import random
import statistics
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from bench.clients import NO_RESPONSE, Clock, RequestOutcome, body_of, latencies_s, run_client
from bench.command import Command, Options, show
from bench.peers.arrivals import percentile
from bench.rounds import interleave
from bench.server import CPUS, service_process
from bench.workloads import SEED, SENTENCES, read_lines

LARGE_CHARS = 99_900
LOADS = (1, 4, 16)
PAUSE_S = 0.05
"""Pause in seconds between a response and the next short sentence."""
SETTLE_S = 2.0
"""Time in seconds from the first large texts to the first short sentence."""
SHORT = "Der Zug nach Hamburg fährt um {} Uhr ab."
TIMEOUT_S = 600.0
SETTINGS = {"DRAGOMAN_QUEUE_SIZE": "65536", "DRAGOMAN_REQUEST_TIMEOUT_S": str(TIMEOUT_S)}
"""Service settings; the default queue is too short for sixteen large texts at a time."""


def sentences_text(draw: random.Random) -> str:
    """Return running text: sentences in random order."""
    lines = read_lines(SENTENCES)
    return " ".join(draw.choices(lines, k=LARGE_CHARS // min(map(len, lines))))[:LARGE_CHARS].strip()


def lines_text(draw: random.Random) -> str:
    """Return 600 lines of one sentence each."""
    return "\n".join(draw.choices(read_lines(SENTENCES), k=600))


TOKENS = ("dragoman_target_tokens_total",)
UNFINISHED = ("dragoman_segments_running", "dragoman_segments_waiting")
KINDS: dict[str, Callable[[random.Random], str]] = {
    "sentences": sentences_text,
    "letters": lambda draw: "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=LARGE_CHARS)),
    "repeated": lambda draw: f"{draw.randrange(9**9)} " + "a" * (LARGE_CHARS - 10),
    # Each of these letters takes a token.
    "umlauts": lambda draw: f"{draw.randrange(9**9)} " + "ä" * 20_000,
    "lines": lines_text,
}
"""Functions that make a large text; all differ, since equal concurrent requests are shared."""


async def send_large(
    http: httpx.AsyncClient, make: Callable[[random.Random], str], numbers: Iterator[int]
) -> None:
    """Send one large text after another."""
    while True:
        # A text takes long to make: on a thread, that does not delay the short sentences.
        draw = random.Random(SEED + next(numbers))  # noqa: S311 -- a workload, no secret
        text = await asyncio.to_thread(make, draw)
        with suppress(httpx.HTTPError):  # rejected: the queue is full
            (await http.post("/v1/translate", json=body_of(text))).raise_for_status()


async def measure_short(
    address: str, kind: str, large_texts: int, numbers: Iterator[int], seconds: float
) -> tuple[list[RequestOutcome], float]:
    """Send short sentences while clients send large texts; return outcomes and target tokens per second.

    The tokens are those of all completed segments, including those of the large texts, which are cancelled at
    the end.
    """
    async with httpx.AsyncClient(base_url=address, timeout=TIMEOUT_S) as http:

        async def ask() -> int:
            try:
                return (
                    await http.post("/v1/translate", json=body_of(SHORT.format(next(numbers))))
                ).status_code
            except httpx.HTTPError:
                return NO_RESPONSE

        tasks = [asyncio.create_task(send_large(http, KINDS[kind], numbers)) for _ in range(large_texts)]
        await asyncio.sleep(SETTLE_S if large_texts else 0.0)
        outcomes: list[RequestOutcome] = []
        began_s, tokens = time.perf_counter(), await _metric(http, TOKENS)
        await run_client(ask, Clock(began_s, seconds), outcomes, lambda _: PAUSE_S)
        tokens = await _metric(http, TOKENS) - tokens
        rate = tokens / (time.perf_counter() - began_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        while await _metric(http, UNFINISHED):  # noqa: ASYNC110 -- another process
            await asyncio.sleep(PAUSE_S)
    return outcomes, rate


async def _metric(http: httpx.AsyncClient, names: Collection[str]) -> float:
    """Return the sum of the service's metrics with these names."""
    families = text_string_to_metric_families((await http.get("/metrics")).text)
    return sum(sample.value for family in families for sample in family.samples if sample.name in names)


def measure(
    address: str, kind: str, loads: Sequence[int], rounds: int, seconds: float
) -> list[dict[str, Any]]:
    """Measure short sentences under each load in turn, `rounds` times; the first load is no large text."""
    numbers = count()
    asyncio.run(measure_short(address, kind, 0, numbers, 1.0))

    def measure_once(kind: str, load: int, _: int) -> tuple[list[RequestOutcome], float]:
        return asyncio.run(measure_short(address, kind, load, numbers, seconds))

    found = interleave([kind], loads, rounds, measure_once)
    results: list[dict[str, Any]] = []
    for (_, load), parts in found.items():
        outcomes = [one for part, _ in parts for one in part]
        latencies = latencies_s(outcomes)
        p99_s = round(percentile(latencies, 0.99), 4)
        result = {
            "kind": kind,
            "large_texts": load,
            "requests": len(outcomes),
            "errors": len(outcomes) - len(latencies),
            "median_latency_s": round(statistics.median(latencies), 4),
            "p99_latency_s": p99_s,
            "worst_latency_s": round(max(latencies), 4),
            "p99_over_alone": round(p99_s / (results[0]["p99_latency_s"] if results else p99_s), 2),
            "tokens_per_s": round(statistics.fmean(rate for _, rate in parts), 1),
        }
        results.append(result)
    return results


def main() -> int:
    options: Options = {"--rounds": 3, "--seconds of each load in each round": 8.0, "--cpus": CPUS}
    options |= {"--kind of large text": (*KINDS,), "--load large texts at a time": LOADS}
    command = Command("fairness", __doc__, {"bundle from German to English": Path, **options})
    arguments = command.parse()
    loads = (0, *arguments.load)
    gc.disable()  # a full collection here takes 200 ms, which would count as the server's
    results: list[dict[str, Any]] = []
    for kind in arguments.kind:
        with service_process(arguments.bundle, arguments.cpus, SETTINGS) as service:
            results += measure(service.address, kind, loads, arguments.rounds, arguments.seconds)
        show(results[-len(loads) :])
    command.write(arguments.bundle, {"results": results})
    return int(any(result["errors"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
