"""Latency of short requests beside background work, and the engine's throughput meanwhile.

Starts the service on this machine's CPUs. Clients send one sentence at a time and pause before the next, as
people do, while 0, 1, 4 or 16 other clients send one large text after another, or run a job (`--kind job
--load 1`). Loads take turns and are repeated, so that other activity of the machine affects all of them
alike; the latencies of all rounds are pooled.
"""

import asyncio
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import httpx

from bench import clients
from bench.clients import RequestOutcome
from bench.command import Command, Options, show
from bench.peers.arrivals import percentile
from bench.rounds import interleave
from bench.server import CPUS, service_process
from bench.workloads import SEED, SENTENCES, distinct_lines, read_lines

LARGE_CHARS = 99_900
JOB, JOB_LINES = "job", 20_000
"""Kind of a job, and its number of lines: more than are translated in a phase."""
LOADS = (1, 4, 16)
NUM_TEXTS = 3000
POLL_S = 0.05
SETTLE_S, WARM_UP_S = 3.0, 1.0
"""Time in seconds from the start of the background work to the first short sentence, and of a first phase."""
TIMEOUT_S = 600.0
SETTINGS = {"DRAGOMAN_QUEUE_SIZE": "65536", "DRAGOMAN_REQUEST_TIMEOUT_S": str(TIMEOUT_S)}
"""Service settings; the default queue is too short for sixteen large texts at a time."""
TOKENS = "dragoman_target_tokens_total"
UNFINISHED = ("dragoman_segments_running", "dragoman_segments_waiting")


def sentences_text(draw: Random) -> str:
    """Return running text: sentences in random order."""
    lines = read_lines(SENTENCES)
    return " ".join(draw.choices(lines, k=LARGE_CHARS // min(map(len, lines))))[:LARGE_CHARS].strip()


KINDS: dict[str, Callable[[Random], str]] = {
    "sentences": sentences_text,
    "letters": lambda draw: "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=LARGE_CHARS)),
    "repeated": lambda draw: f"{draw.randrange(9**9)} " + "a" * (LARGE_CHARS - 10),
    # Each of these letters takes a token.
    "umlauts": lambda draw: f"{draw.randrange(9**9)} " + "ä" * 20_000,
    "lines": lambda draw: "\n".join(draw.choices(read_lines(SENTENCES), k=600)),
}
"""Functions that make a large text; all differ, since equal concurrent requests are shared."""


ShortRequests = Callable[[str, float], Coroutine[Any, Any, list[RequestOutcome]]]
"""Sends short sentences to an address for some seconds."""


async def send_large(http: httpx.AsyncClient, kind: str, numbers: Iterator[int]) -> None:
    """Send one large text after another."""
    while True:
        # A text takes long to make: on a thread, that does not delay the short sentences.
        draw = Random(SEED + next(numbers))  # noqa: S311 -- a workload, no secret
        request = clients.translation_request(await asyncio.to_thread(KINDS[kind], draw))
        with suppress(httpx.HTTPError):  # rejected: the queue is full
            headers = {"Content-Type": request.content_type}
            await http.post(request.path, content=request.body, headers=headers)


async def run_job(http: httpx.AsyncClient) -> None:
    """Start a job, and cancel it when this task is cancelled."""
    lines = distinct_lines(read_lines(SENTENCES), JOB_LINES)
    response = await http.post(
        "/v1/jobs",
        params={"source": "de", "target": "en"},
        content="".join(json.dumps({"text": line}) + "\n" for line in lines),
        headers={"Content-Type": "application/x-ndjson"},
    )
    try:
        await asyncio.Event().wait()
    finally:
        await http.delete(f"/v1/jobs/{response.raise_for_status().json()['id']}")


async def measure_phase(
    address: str,
    short: Coroutine[Any, Any, list[RequestOutcome]],
    kind: str,
    load: int,
    numbers: Iterator[int],
) -> tuple[list[RequestOutcome], float]:
    """Send short sentences beside background work; return outcomes and target tokens per second.

    The tokens are those of all completed segments, including those of the background work, which is cancelled
    at the end.
    """
    async with httpx.AsyncClient(base_url=address, timeout=TIMEOUT_S) as http:
        start = partial(run_job, http) if kind == JOB else partial(send_large, http, kind, numbers)
        tasks = [asyncio.create_task(start()) for _ in range(load)]
        await asyncio.sleep(SETTLE_S if load else 0.0)
        began_s, tokens = time.perf_counter(), await _metric(http, TOKENS)
        outcomes = await short
        rate = (await _metric(http, TOKENS) - tokens) / (time.perf_counter() - began_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        while await _metric(http, *UNFINISHED):  # noqa: ASYNC110 -- another process
            await asyncio.sleep(POLL_S)
    return outcomes, rate


async def _metric(http: httpx.AsyncClient, *names: str) -> float:
    """Return the sum of the service's metrics with these names."""
    text = (await http.get("/metrics")).text
    return sum(sample.value for name in names for sample in clients.metric_samples(text, name))


def measure(
    address: str, short: ShortRequests, kind: str, loads: list[int], rounds: int, seconds: float
) -> list[dict[str, Any]]:
    """Measure short sentences beside each load in turn, `rounds` times; the first load is none."""
    numbers = count()
    asyncio.run(short(address, WARM_UP_S))

    def measure_once(kind: str, load: int, _: int) -> tuple[list[RequestOutcome], float]:
        return asyncio.run(measure_phase(address, short(address, seconds), kind, load, numbers))

    results: list[dict[str, Any]] = []
    for (_, load), parts in interleave([kind], loads, rounds, measure_once).items():
        outcomes = [one for part, _ in parts for one in part]
        latencies = clients.latencies_s(outcomes)
        p99_s = round(percentile(latencies, 0.99), 4)
        result = {
            "kind": kind,
            "load": load,
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
    options |= {"--clients of short sentences": 1, "--pause in seconds, on average": 0.05}
    options |= {"--kind of background work": (*KINDS, JOB), "--load as numbers of its clients": LOADS}
    options |= {"--job-texts of a job in the engine at a time": int}
    command = Command("fairness", __doc__, {"bundle from German to English": Path, **options})
    arguments = command.parse()
    texts, drawn = clients.read_texts(SENTENCES, NUM_TEXTS), Random(SEED)  # noqa: S311 -- a workload, no secret
    num_clients, job_texts = arguments.clients, arguments.job_texts

    async def send_short(address: str, seconds: float) -> list[RequestOutcome]:
        pause = 1 / arguments.pause
        return await clients.run_clients(
            address, texts, num_clients, seconds, lambda _: drawn.expovariate(pause)
        )

    settings = SETTINGS | ({} if job_texts is None else {"DRAGOMAN_JOB_TEXTS": str(job_texts)})
    loads, times = [0, *arguments.load], (arguments.rounds, arguments.seconds)
    gc.disable()  # a full collection here takes 200 ms, which would count as the server's
    results: list[dict[str, Any]] = []
    for kind in arguments.kind:
        with service_process(arguments.bundle, arguments.cpus, settings) as service:
            found = measure(service.address, send_short, kind, loads, *times)
        show(found)
        results += found
    facts = {"clients": num_clients, "pause_s": arguments.pause, "job_texts": job_texts}
    command.write(arguments.bundle, {**facts, "results": results})
    return int(any(result["errors"] for result in results))


if __name__ == "__main__":
    sys.exit(main())
