"""Latency of short sentences while large texts are translated, and the engine's throughput meanwhile.

Starts the service on this machine's CPUs. While 0, 1, 4 or 16 clients send one large text after another, one
more client sends short sentences with pauses between them. Loads take turns and are repeated, so that other
activity of the machine affects all of them alike; the latencies of all rounds are pooled.
"""

import argparse
import asyncio
import gc
import itertools
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from bench.peers.arrivals import percentile
from bench.provenance import provenance, write_result
from bench.server import service_process
from bench.workloads import SEED, SENTENCES, read_lines

LARGE_CHARS = 99_900
LOADS = (0, 1, 4, 16)
PAUSE_S = 0.05
"""Pause in seconds between a response and the next short sentence."""
SETTLE_S = 2.0
"""Time in seconds from the first large texts to the first short sentence."""
SHORT = "Der Zug nach Hamburg fährt um {} Uhr ab."
TIMEOUT_S = 600.0
SETTINGS = {"DRAGOMAN_QUEUE_SIZE": "65536", "DRAGOMAN_REQUEST_TIMEOUT_S": str(TIMEOUT_S)}
"""Service settings; the default queue is too short for sixteen large texts at a time."""

MakeText = Callable[[int], str]
"""Function that makes a large text from a number; all differ, since equal concurrent requests are shared."""


@dataclass(frozen=True, slots=True)
class LatencyResult:
    """Latencies of short sentences while `large_texts` clients send large texts of one kind."""

    kind: str
    large_texts: int
    requests: int
    errors: int
    median_latency_s: float
    p99_latency_s: float
    worst_latency_s: float
    p99_over_alone: float
    tokens_per_s: float
    """Target tokens per second of all completed segments, including those of cancelled large texts."""


def sentences_text(number: int) -> str:
    """Return running text: sentences in random order."""
    lines = read_lines(SENTENCES)
    draw = random.Random(SEED + number)  # noqa: S311 -- a workload, no secret
    return _fill(f"{draw.choice(lines)} " for _ in itertools.count())


def letters_text(number: int) -> str:
    """Return random letters without a space."""
    draw = random.Random(SEED + number)  # noqa: S311 -- the same
    return _fill(draw.choice("abcdefghijklmnopqrstuvwxyz") for _ in itertools.count())


def repeated_text(number: int) -> str:
    """Return one letter, repeated."""
    return f"{number} " + "a" * (LARGE_CHARS - 10)


def umlauts_text(number: int) -> str:
    """Return one letter 20,000 times that takes a token each time."""
    return f"{number} " + "ä" * 20_000


def lines_text(number: int) -> str:
    """Return 600 lines of one sentence each."""
    lines = read_lines(SENTENCES)
    draw = random.Random(SEED + number)  # noqa: S311 -- the same
    return "\n".join(draw.choice(lines) for _ in range(600))


KINDS: dict[str, MakeText] = {
    "sentences": sentences_text,
    "letters": letters_text,
    "repeated": repeated_text,
    "umlauts": umlauts_text,
    "lines": lines_text,
}


def _fill(parts: Iterator[str]) -> str:
    text: list[str] = []
    length = 0
    for part in parts:
        text.append(part)
        length += len(part)
        if length >= LARGE_CHARS:
            break
    return "".join(text)[:LARGE_CHARS].strip()


@dataclass(slots=True)
class _LoadMeasurements:
    """Measurements of one load in all rounds."""

    latencies_s: list[float]
    errors: int = 0
    tokens: float = 0.0
    seconds: float = 0.0


@contextmanager
def large_texts(address: str, texts: Iterator[str], clients: int) -> Iterator[None]:
    """Run clients that send one large text after another; cancel their requests when the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    clients_task = asyncio.run_coroutine_threadsafe(_send_large(address, texts, clients), loop)
    try:
        yield
    finally:
        clients_task.cancel()
        with suppress(CancelledError):
            clients_task.result()
        # The cancelled clients close their connections before the loop ends.
        asyncio.run_coroutine_threadsafe(asyncio.sleep(PAUSE_S), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _send_large(address: str, texts: Iterator[str], clients: int) -> None:
    async def ask() -> None:
        async with httpx.AsyncClient(base_url=address, timeout=TIMEOUT_S) as http:
            while True:
                with suppress(httpx.HTTPError):  # rejected: the queue is full
                    (await http.post("/v1/translate", json=_body(next(texts)))).raise_for_status()

    await asyncio.gather(*(ask() for _ in range(clients)))


def send_short(address: str, seen: _LoadMeasurements, seconds: float) -> None:
    """Send short sentences for `seconds`, each after the response to the previous one."""
    numbers = itertools.count(seen.errors + len(seen.latencies_s))
    with httpx.Client(base_url=address, timeout=TIMEOUT_S) as http:
        tokens, began = _target_tokens(http), time.perf_counter()
        while time.perf_counter() - began < seconds:
            sent_s = time.perf_counter()
            try:
                http.post("/v1/translate", json=_body(SHORT.format(next(numbers)))).raise_for_status()
                seen.latencies_s.append(time.perf_counter() - sent_s)
            except httpx.HTTPError:
                seen.errors += 1
            time.sleep(PAUSE_S)
        seen.seconds += time.perf_counter() - began
        seen.tokens += _target_tokens(http) - tokens


def measure(
    address: str, kind: str, loads: Sequence[int], rounds: int, seconds: float
) -> list[LatencyResult]:
    """Measure short sentences under each load in turn, `rounds` times."""
    texts = map(KINDS[kind], itertools.count())
    seen = {load: _LoadMeasurements([]) for load in loads}
    for _ in range(rounds):
        for load in loads:
            with large_texts(address, texts, load):
                time.sleep(SETTLE_S if load else 0.0)
                send_short(address, seen[load], seconds)
            _wait_until_idle(address)
    alone_s = percentile(seen[loads[0]].latencies_s, 0.99)
    return [
        LatencyResult(
            kind=kind,
            large_texts=load,
            requests=len(found.latencies_s) + found.errors,
            errors=found.errors,
            median_latency_s=round(statistics.median(found.latencies_s), 4),
            p99_latency_s=round(percentile(found.latencies_s, 0.99), 4),
            worst_latency_s=round(max(found.latencies_s), 4),
            p99_over_alone=round(percentile(found.latencies_s, 0.99) / alone_s, 2),
            tokens_per_s=round(found.tokens / found.seconds, 1),
        )
        for load, found in seen.items()
    ]


def _body(text: str) -> dict[str, str]:
    return {"text": text, "source": "de", "target": "en"}


def _target_tokens(http: httpx.Client) -> float:
    return _metric(http, "dragoman_target_tokens_total")


def _metric(http: httpx.Client, name: str) -> float:
    families = text_string_to_metric_families(http.get("/metrics").text)
    return sum(sample.value for family in families for sample in family.samples if sample.name == name)


def _wait_until_idle(address: str) -> None:
    with httpx.Client(base_url=address, timeout=TIMEOUT_S) as http:
        while _metric(http, "dragoman_segments_running") + _metric(http, "dragoman_segments_waiting"):
            time.sleep(PAUSE_S)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.fairness", description=__doc__)
    parser.add_argument("bundle", type=Path, help="from German to English")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("--kind", choices=KINDS, action="append", help="of large text; default: all")
    parser.add_argument(
        "--load", type=int, action="append", help="large texts at a time; default: 1, 4 and 16"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each load in each round")
    parser.add_argument("--output", type=Path, help="JSON file, such as bench/results/fairness.json")
    arguments = parser.parse_args()
    loads = (0, *arguments.load) if arguments.load else LOADS
    gc.disable()  # a full collection here takes 200 ms, which would count as the server's
    results: list[LatencyResult] = []
    for kind in arguments.kind or KINDS:
        with service_process(arguments.bundle, arguments.cpus, SETTINGS) as service:
            send_short(service.address, _LoadMeasurements([]), 1.0)
            found = measure(service.address, kind, loads, arguments.rounds, arguments.seconds)
        results += found
        for waits in found:
            print(
                f"{waits.kind:10} {waits.large_texts:3}  median {waits.median_latency_s * 1000:6.1f} ms  "
                f"p99 {waits.p99_latency_s * 1000:6.1f} ms ({waits.p99_over_alone:5.2f} x alone)  "
                f"worst {waits.worst_latency_s * 1000:6.1f} ms  {waits.tokens_per_s:7.1f} tokens/s  "
                f"of {waits.requests}: {waits.errors} errors",
                flush=True,
            )
    if arguments.output:
        command = f"python -m bench.fairness {arguments.bundle}"
        write_result(
            arguments.output,
            provenance(arguments.bundle, command),
            {"results": [asdict(result) for result in results]},
        )
    return 1 if any(result.errors for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
