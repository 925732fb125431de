"""The service under load for minutes: rates, latencies, rejections, memory, compared with the engine alone.

Clients wait for their response before the next request, and all take from one list of sentences, so that no
two send the same at a time; the segment cache is off. Nothing else runs on the CPUs of clients and server.
"""

import argparse
import asyncio
import os
import random
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx
from prometheus_client.parser import text_string_to_metric_families

from bench.contenders import Contender, Worker
from bench.page import RESULTS
from bench.peers.arrivals import percentile
from bench.plain_http import PlainClient
from bench.plots import FIGURES, draw_soak_file
from bench.provenance import provenance, write_result
from bench.server import Service, service_process
from bench.workloads import SEED, SENTENCES, read_lines
from dragoman.bundle import read_bundle

CPUS = 2
TIMEOUT_S = 120.0
MAX_BINS = 120
"""Maximum number of intervals for which latencies and memory are reported."""
REJECTING_QUEUE_SIZE = 8
REJECTED_PAUSE_S = 0.05
"""Wait in seconds after a rejection; without it, the rate of rejections would be measured."""
WARM_UP_SHARE = 0.1
"""Share of the time in which memory still grows to what the load needs; the slope is taken after it."""
MIB = 2**20


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """One request as its client measured it."""

    at_s: float
    """Time of the response since the load began."""
    latency_s: float
    status: int
    """HTTP status; 0 without a response."""


@dataclass(frozen=True, slots=True)
class MemorySample:
    """Resident memory of the server at a time since the beginning."""

    at_s: float
    size_bytes: int


async def load(address: str, texts: Sequence[str], clients: int, seconds: float) -> list[RequestOutcome]:
    """Run closed-loop clients for `seconds`; wait for every request that was sent."""
    began = time.perf_counter()
    remaining = cycle(texts)
    answered: list[RequestOutcome] = []

    async def run_client() -> None:
        async with PlainClient(address, TIMEOUT_S) as client:
            while time.perf_counter() - began < seconds:
                sent_s = time.perf_counter()
                body = {"text": next(remaining), "source": "de", "target": "en"}
                status = await client.post("/v1/translate", body)
                now = time.perf_counter()
                answered.append(RequestOutcome(now - began, now - sent_s, status))
                if status == httpx.codes.TOO_MANY_REQUESTS:
                    await asyncio.sleep(REJECTED_PAUSE_S)

    await asyncio.gather(*(run_client() for _ in range(clients)))
    return answered


@contextmanager
def watch_memory(pid: int, every_s: float) -> Iterator[list[MemorySample]]:
    """Sample the resident memory of a process every `every_s` seconds on a thread."""
    seen: list[MemorySample] = []
    is_over = threading.Event()
    began = time.perf_counter()

    def watch() -> None:
        while True:
            seen.append(MemorySample(time.perf_counter() - began, resident_bytes(pid)))
            if is_over.wait(every_s):
                return

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process (Linux)."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def summarise_load(answered: Sequence[RequestOutcome]) -> dict[str, Any]:
    """Return counts by status, the rate of responses with 200, and their latencies."""
    good = [one.latency_s for one in answered if one.status == httpx.codes.OK]
    seconds = max((one.at_s for one in answered), default=0.0)
    statuses = Counter(one.status for one in answered)
    return {
        "seconds": round(seconds, 2),
        "requests": len(answered),
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "errors": len(answered) - len(good),
        "texts_per_s": round(len(good) / seconds, 2) if seconds else 0.0,
        **_percentiles_ms(good),
    }


def _percentiles_ms(latencies_s: Sequence[float]) -> dict[str, float | None]:
    shares = {"p50_ms": 0.5, "p95_ms": 0.95, "p99_ms": 0.99}
    return {
        name: round(1e3 * percentile(latencies_s, share), 1) if latencies_s else None
        for name, share in shares.items()
    }


def summarise_memory(seen: Sequence[MemorySample]) -> dict[str, Any]:
    """Return memory at the start, after a minute, at the end and at most, and its growth after warm-up."""
    end_s = seen[-1].at_s
    warm = [one for one in seen if one.at_s >= WARM_UP_SHARE * end_s]
    minute = min(seen, key=lambda one: abs(one.at_s - 60))
    return {
        "start_mib": _mib(seen[0].size_bytes),
        "one_minute_mib": _mib(minute.size_bytes),
        "end_mib": _mib(seen[-1].size_bytes),
        "most_mib": _mib(max(one.size_bytes for one in seen)),
        "slope_mib_per_hour": round(slope_bytes_per_s(warm) * 3600 / MIB, 2),
        "slope_after_s": round(WARM_UP_SHARE * end_s, 1),
    }


def slope_bytes_per_s(seen: Sequence[MemorySample]) -> float:
    """Return the growth of memory by least squares; 0 for fewer than two times."""
    if len({one.at_s for one in seen}) < 2:  # noqa: PLR2004 -- a line has two points
        return 0.0
    times, sizes = [one.at_s for one in seen], [float(one.size_bytes) for one in seen]
    return statistics.linear_regression(times, sizes).slope


def timeline(
    answered: Sequence[RequestOutcome], seen: Sequence[MemorySample], bins: int
) -> list[dict[str, Any]]:
    """Return latencies, rate and memory of equal intervals; one without responses has no latencies."""
    end_s = max([one.at_s for one in answered] + [seen[-1].at_s])
    width_s = end_s / bins
    rows = []
    for number in range(bins):
        begins_s, ends_s = number * width_s, (number + 1) * width_s
        good = [
            one.latency_s
            for one in answered
            if begins_s < one.at_s <= ends_s and one.status == httpx.codes.OK
        ]
        middle_s = (begins_s + ends_s) / 2
        nearest = min(seen, key=lambda one, middle_s=middle_s: abs(one.at_s - middle_s))  # type: ignore[misc]
        rows.append(
            {
                "at_s": round(middle_s, 2),
                "texts_per_s": round(len(good) / width_s, 1),
                **_percentiles_ms(good),
                "resident_mib": _mib(nearest.size_bytes),
            }
        )
    return rows


def _mib(size_bytes: int) -> float:
    return round(size_bytes / MIB, 1)


@dataclass(frozen=True, slots=True)
class EngineRate:
    """Rate and CPU time of the engine without the service."""

    texts_per_s: float
    cpu_ms_per_text: float


def engine_rate(bundle: Path, texts: Sequence[str], clients: int) -> EngineRate:
    """Measure the engine alone, with as many clients on threads of its own process."""
    defaults = read_bundle(bundle).manifest.decoding
    search = {"beam_size": defaults.beam_size, "length_penalty": defaults.length_penalty}
    worker = Worker(Contender("engine", "dragoman", bundle), CPUS)
    try:
        worker.wait_until_loaded()
        body = {"do": "closed", "front": "submit", "clients": clients, "search": search}
        worker.ask({**body, "texts": list(texts[: 2 * clients])})
        began_cpu_s = cpu_seconds(worker.pid)
        reply = worker.ask({**body, "texts": list(texts)})
        used_cpu_s = cpu_seconds(worker.pid) - began_cpu_s
    finally:
        worker.close()
    if reply["errors"]:
        raise RuntimeError(f"the engine failed for {reply['errors']} sentences")
    return EngineRate(float(reply["requests_per_s"]), 1e3 * used_cpu_s / len(texts))


def soak(service: Service, texts: Sequence[str], clients: int, seconds: float) -> dict[str, Any]:
    """Run the first phase, with a queue that accepts every request."""
    asyncio.run(load(service.address, texts, clients, min(5.0, seconds / 4)))
    client_cpu_s, server_cpu_s = time.process_time(), cpu_seconds(service.pid)
    with watch_memory(service.pid, min(1.0, seconds / 10)) as seen:
        answered = asyncio.run(load(service.address, texts, clients, seconds))
    client_cpu_s, server_cpu_s = time.process_time() - client_cpu_s, cpu_seconds(service.pid) - server_cpu_s
    summary = summarise_load(answered)
    return {
        **summary,
        "memory": summarise_memory(seen),
        "cpu_ms_per_text": {
            "server": round(1e3 * server_cpu_s / max(1, len(answered)), 3),
            "clients": round(1e3 * client_cpu_s / max(1, len(answered)), 3),
        },
        "timeline": timeline(answered, seen, min(MAX_BINS, max(1, int(seconds)))),
    }


def measure_rejections(
    service: Service, texts: Sequence[str], clients: int, seconds: float
) -> dict[str, Any]:
    """Run the second phase, with a short queue that rejects requests."""
    answered = asyncio.run(load(service.address, texts, clients, seconds))
    rejected = [one.latency_s for one in answered if one.status == httpx.codes.TOO_MANY_REQUESTS]
    metrics = httpx.get(f"{service.address}/metrics").raise_for_status().text
    return {
        "queue_size": REJECTING_QUEUE_SIZE,
        "clients": clients,
        **summarise_load(answered),
        "refused": len(rejected),
        "refused_seen_by_clients": _percentiles_ms(rejected),
        "refused_by_server": served_within(metrics, status="4xx"),
    }


def _matches(labels: Mapping[str, str], status: str) -> bool:
    return labels["route"] == "/v1/translate" and labels["status"] == status


def served_within(metrics: str, status: str) -> dict[str, Any]:
    """Return the server's latency distribution of translation requests with one class of status."""
    buckets: Counter[float] = Counter()
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            if sample.name == "dragoman_request_seconds_bucket" and _matches(sample.labels, status):
                buckets[float(sample.labels["le"])] += int(sample.value)
    total = buckets.get(float("inf"), 0)
    return {
        "count": total,
        "within_ms": {
            f"{1e3 * limit:g}": round(count / total, 5)
            for limit, count in sorted(buckets.items())
            if total and limit != float("inf")
        },
    }


def read_texts(path: Path, count: int, sentences_per_text: int = 1) -> list[str]:
    """Read sentences in a fixed random order, repeated if there are too few, as lines of texts."""
    lines = read_lines(path)
    random.Random(SEED).shuffle(lines)  # noqa: S311 -- a workload, no secret
    drawn = list(islice(cycle(lines), count))
    return [
        "\n".join(drawn[begin : begin + sentences_per_text]) for begin in range(0, count, sentences_per_text)
    ]


def measure(bundle: Path, texts: Sequence[str], clients: int, minutes: float) -> dict[str, Any]:
    """Measure the engine, the service, the engine again, and a service that rejects requests."""
    before = engine_rate(bundle, texts, clients)
    with service_process(bundle, CPUS, {}) as service:
        served = soak(service, texts, clients, 60 * minutes)
    after = engine_rate(bundle, texts, clients)
    few: Mapping[str, str] = {"DRAGOMAN_QUEUE_SIZE": str(REJECTING_QUEUE_SIZE)}
    with service_process(bundle, CPUS, few) as service:
        rejected = measure_rejections(service, texts, 2 * clients, min(30.0, 60 * minutes))
    return {
        "clients": clients,
        "minutes": minutes,
        "engine": {
            "texts_per_s": [round(one.texts_per_s, 2) for one in (before, after)],
            "cpu_ms_per_text": [round(one.cpu_ms_per_text, 3) for one in (before, after)],
        },
        **compare(served, before, after),
        "served": served,
        "refusing": rejected,
    }


def compare(served: Mapping[str, Any], before: EngineRate, after: EngineRate) -> dict[str, float]:
    """Return the service's rate relative to the engine's: on CPUs shared with clients, and by CPU time."""
    rate = (before.texts_per_s + after.texts_per_s) / 2
    cpu_ms = (before.cpu_ms_per_text + after.cpu_ms_per_text) / 2
    return {
        "served_to_engine": round(served["texts_per_s"] / rate, 3),
        "served_to_engine_for_cpu_time": round(cpu_ms / served["cpu_ms_per_text"]["server"], 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--sentences", type=Path, default=SENTENCES, help="German text, a sentence a line")
    parser.add_argument("--engine-sentences", type=int, default=3000, help="for the engine's own rate")
    parser.add_argument("--sentences-per-text", type=int, default=1, help="a request carries one text")
    parser.add_argument("--output", type=Path, default=RESULTS / "soak.json")
    parser.add_argument("--figure", type=Path, default=FIGURES / "soak.png")
    arguments = parser.parse_args()
    per_text = arguments.sentences_per_text
    texts = read_texts(arguments.sentences, arguments.engine_sentences, per_text)
    measured = measure(arguments.bundle, texts, arguments.clients, arguments.minutes)
    result = {"sentences_per_text": per_text, **measured}
    command = (
        f"python -m bench.soak {arguments.bundle} --clients {arguments.clients} "
        f"--minutes {arguments.minutes:g} --sentences-per-text {per_text}"
    )
    write_result(arguments.output, provenance(arguments.bundle, command), result)
    draw_soak_file(arguments.output, arguments.figure)
    _print(result)
    return 1 if result["served"]["errors"] else 0


def _print(result: Mapping[str, Any]) -> None:
    served, refusing = result["served"], result["refusing"]
    print(f"engine  {result['engine']}")
    print(
        f"served  {served['texts_per_s']} texts/s, {result['served_to_engine']:.1%} of the engine's, "
        f"p50/p95/p99 {served['p50_ms']}/{served['p95_ms']}/{served['p99_ms']} ms, {served['statuses']}"
    )
    print(f"memory  {served['memory']}")
    by_cpu = result["served_to_engine_for_cpu_time"]
    print(f"CPU ms  {served['cpu_ms_per_text']} a text, {by_cpu:.1%} of the engine's rate by CPU time")
    print(
        f"refused {refusing['refused']} of {refusing['requests']}, {refusing['statuses']}; "
        f"clients saw {refusing['refused_seen_by_clients']}, server {refusing['refused_by_server']}"
    )


if __name__ == "__main__":
    sys.exit(main())
