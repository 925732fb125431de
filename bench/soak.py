"""The service under load for minutes: rates, latencies, rejections, memory, compared with the engine alone.

Clients wait for their response before the next request, and all take from one list of sentences, so that no
two send the same at a time; the segment cache is off. Nothing else runs on the CPUs of clients and server.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from bench import clients
from bench.clients import TOO_MANY_REQUESTS, RequestOutcome
from bench.command import Command, Options, show
from bench.contenders import Contender, running
from bench.processes import MIB, MemorySample, cpu_seconds, memory, sample_memory
from bench.provenance import RESULTS
from bench.server import CPUS, Service, service_process
from bench.workloads import SENTENCES
from dragoman.bundle import read_bundle

MAX_BINS = 120
"""Maximum number of intervals for which latencies and memory are reported."""
REJECTING_QUEUE_SIZE = 8
REJECTED_PAUSE_S = 0.05
"""Wait in seconds after a rejection; without it, the rate of rejections would be measured."""
WARM_UP_SHARE = 0.1
"""Share of the time in which memory still grows to what the load needs; the slope is taken after it."""


def load(address: str, texts: Sequence[str], num_clients: int, seconds: float) -> list[RequestOutcome]:
    """Run closed-loop clients for `seconds`; wait for every request that was sent."""

    def pause_s(status: int) -> float:
        return REJECTED_PAUSE_S if status == TOO_MANY_REQUESTS else 0.0

    return asyncio.run(clients.run_clients(address, texts, num_clients, seconds, pause_s))


def summarise_load(answered: Sequence[RequestOutcome]) -> dict[str, Any]:
    """Return counts by status, the rate of responses with 200, and their latencies."""
    good = clients.latencies_s(answered)
    seconds = max((one.at_s for one in answered), default=0.0)
    return {
        "seconds": round(seconds, 2),
        "requests": len(answered),
        "statuses": clients.count_statuses(answered, {}),
        "errors": len(answered) - len(good),
        "texts_per_s": round(len(good) / seconds, 2) if seconds else 0.0,
        **clients.percentiles_ms(good, 50, 95, 99),
    }


def summarise_memory(seen: Sequence[MemorySample]) -> dict[str, Any]:
    """Return memory at the start, after a minute, at the end and at most, and its growth after warm-up."""
    warm_s = WARM_UP_SHARE * seen[-1].at_s
    sizes = {
        "start": seen[0].size_bytes,
        "one_minute": min(seen, key=lambda one: abs(one.at_s - 60)).size_bytes,
        "end": seen[-1].size_bytes,
        "most": max(one.size_bytes for one in seen),
    }
    slope = slope_bytes_per_s([one for one in seen if one.at_s >= warm_s])
    return {
        **{f"{name}_mib": round(size_bytes / MIB, 1) for name, size_bytes in sizes.items()},
        "slope_mib_per_hour": round(slope * 3600 / MIB, 2),
        "slope_after_s": round(warm_s, 1),
    }


def slope_bytes_per_s(seen: Sequence[MemorySample]) -> float:
    """Return the growth of memory by least squares; 0 for fewer than two times."""
    times, sizes = [one.at_s for one in seen], [float(one.size_bytes) for one in seen]
    return statistics.linear_regression(times, sizes).slope if len({*times}) > 1 else 0.0


def timeline(
    answered: Sequence[RequestOutcome], seen: Sequence[MemorySample], bins: int
) -> list[dict[str, Any]]:
    """Return latencies, rate and memory of equal intervals; one without responses has no latencies."""
    width_s = max([one.at_s for one in answered] + [seen[-1].at_s]) / bins
    rows = []
    for number in range(bins):
        begins_s, middle_s = number * width_s, (number + 0.5) * width_s
        good = clients.latencies_s([one for one in answered if begins_s < one.at_s <= begins_s + width_s])
        nearest = min(seen, key=lambda one: abs(one.at_s - middle_s))
        row: dict[str, Any] = {"at_s": round(middle_s, 2), "texts_per_s": round(len(good) / width_s, 1)}
        row |= clients.percentiles_ms(good, 50, 95, 99)
        rows.append(row | {"resident_mib": round(nearest.size_bytes / MIB, 1)})
    return rows


def engine_rate(bundle: Path, texts: Sequence[str], num_clients: int) -> tuple[float, float]:
    """Return texts per second and CPU milliseconds per text of the engine alone, with as many clients.

    Raises:
        RuntimeError: a text failed.
    """
    defaults = read_bundle(bundle).manifest.decoding
    search = {"beam_size": defaults.beam_size, "length_penalty": defaults.length_penalty}
    body = {"do": "closed", "front": "submit", "clients": num_clients, "search": search}
    with running([Contender("engine", "dragoman", bundle)], CPUS) as started:
        worker = started["engine"]
        worker.ask({**body, "texts": texts[: 2 * num_clients]})
        began_cpu_s = cpu_seconds(worker.pid)
        reply = worker.ask({**body, "texts": texts})
        used_cpu_s = cpu_seconds(worker.pid) - began_cpu_s
    if reply["errors"]:
        raise RuntimeError(f"the engine failed for {reply['errors']} sentences")
    return round(reply["requests_per_s"], 2), round(1e3 * used_cpu_s / len(texts), 3)


def soak(service: Service, texts: Sequence[str], num_clients: int, seconds: float) -> dict[str, Any]:
    """Run the first phase, with a queue that accepts every request."""
    load(service.address, texts, num_clients, min(5.0, seconds / 4))
    before = {"server": cpu_seconds(service.pid), "clients": time.process_time()}
    with sample_memory(lambda: memory(service.pid).resident_bytes, min(1.0, seconds / 10)) as seen:
        answered = load(service.address, texts, num_clients, seconds)
    after = {"server": cpu_seconds(service.pid), "clients": time.process_time()}
    count = max(1, len(answered))
    return {
        **summarise_load(answered),
        "memory": summarise_memory(seen),
        "cpu_ms_per_text": {name: round(1e3 * (after[name] - before[name]) / count, 3) for name in before},
        "timeline": timeline(answered, seen, min(MAX_BINS, max(1, int(seconds)))),
    }


def measure_rejections(
    service: Service, texts: Sequence[str], num_clients: int, seconds: float
) -> dict[str, Any]:
    """Run the second phase, with a short queue that rejects requests."""
    answered = load(service.address, texts, num_clients, seconds)
    rejected = clients.latencies_s(answered, TOO_MANY_REQUESTS)
    return {
        "queue_size": REJECTING_QUEUE_SIZE,
        "clients": num_clients,
        **summarise_load(answered),
        "refused": len(rejected),
        "refused_seen_by_clients": clients.percentiles_ms(rejected, 50, 95, 99),
        "refused_by_server": served_within(httpx.get(f"{service.address}/metrics").text, status="4xx"),
    }


def served_within(metrics: str, status: str) -> dict[str, Any]:
    """Return the server's latency distribution of translation requests with one class of status."""
    wanted = {"api": "native", "route": "/v1/translate", "status": status}
    buckets = {
        float(one.labels["le"]): int(one.value)
        for one in clients.metric_samples(metrics, "dragoman_request_seconds_bucket")
        if wanted.items() <= one.labels.items()
    }
    total = buckets.pop(float("inf"), 0)
    within = {f"{1e3 * limit:g}": round(count / (total or 1), 5) for limit, count in sorted(buckets.items())}
    return {"count": total, "within_ms": within}


def measure(bundle: Path, texts: Sequence[str], num_clients: int, minutes: float) -> dict[str, Any]:
    """Measure the engine, the service, the engine again, and a service that rejects requests."""
    before = engine_rate(bundle, texts, num_clients)
    with service_process(bundle, CPUS, {}) as service:
        served = soak(service, texts, num_clients, 60 * minutes)
    rates, cpu_ms = zip(before, engine_rate(bundle, texts, num_clients), strict=True)
    with service_process(bundle, CPUS, {"DRAGOMAN_QUEUE_SIZE": str(REJECTING_QUEUE_SIZE)}) as service:
        rejected = measure_rejections(service, texts, 2 * num_clients, min(30.0, 60 * minutes))
    engine = {"texts_per_s": list(rates), "cpu_ms_per_text": list(cpu_ms)}
    facts = {"clients": num_clients, "minutes": minutes, "engine": engine, **compare(served, engine)}
    return {**facts, "served": served, "refusing": rejected}


def compare(served: Mapping[str, Any], engine: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Return the service's rate relative to the engine's: on CPUs shared with clients, and by CPU time."""
    rate, cpu_ms = (statistics.fmean(engine[name]) for name in ("texts_per_s", "cpu_ms_per_text"))
    return {
        "served_to_engine": round(served["texts_per_s"] / rate, 3),
        "served_to_engine_for_cpu_time": round(cpu_ms / served["cpu_ms_per_text"]["server"], 3),
    }


def main() -> int:
    options: Options = {"--clients": 64, "--minutes": 10.0, "--sentences": SENTENCES}
    options |= {"--engine-sentences for the engine's own rate": 3000, "--sentences-per-text of a request": 1}
    options |= {"--output": RESULTS / "soak.json"}
    command = Command("soak", __doc__, {"bundle": Path, **options})
    arguments = command.parse()
    per_text = arguments.sentences_per_text
    texts = clients.read_texts(arguments.sentences, arguments.engine_sentences, per_text)
    result = measure(arguments.bundle, texts, arguments.clients, arguments.minutes)
    command.write(arguments.bundle, {"sentences_per_text": per_text, **result})
    served = {name: value for name, value in result.pop("served").items() if name != "timeline"}
    show([result, served])
    return int(served["errors"] > 0)


if __name__ == "__main__":
    sys.exit(main())
