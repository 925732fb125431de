"""Latency of interactive requests with and without a running job, and the job's speed meanwhile.

Clients send one sentence at a time and pause before the next, as people do. Phases with and without a job
take turns in one process of the service.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from pathlib import Path

import httpx

from bench.page import RESULTS
from bench.peers.arrivals import percentile
from bench.plain_http import PlainClient
from bench.provenance import provenance, write_result
from bench.server import Service, service_process
from bench.soak import read_texts
from bench.workloads import SEED, SENTENCES, distinct_lines, read_lines

CPUS = 2
TIMEOUT_S = 120.0
JOB_LINES = 20_000
"""Number of lines of a job: more than are translated in a phase."""
SETTLE_S = 3.0
"""Wait in seconds before a phase and after its job: the engine fills with a job, or finishes its rest."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Results of a phase of interactive requests."""

    has_job: bool
    requests: int
    errors: int
    p50_ms: float
    p99_ms: float
    job_entries_per_s: float | None
    """Entries that the job completes per second; None without a job."""


@dataclass(frozen=True, slots=True)
class ClientLoad:
    """The clients of a phase, and its length."""

    clients: int
    pause_s: float
    """Mean pause, exponentially distributed."""
    seconds: float


async def ask(address: str, texts: Sequence[str], crowd: ClientLoad) -> list[tuple[int, float]]:
    """Send requests; return status and latency, in seconds, of each."""
    ends_s = time.perf_counter() + crowd.seconds
    remaining = cycle(texts)
    drawn = random.Random(SEED)  # noqa: S311 -- a workload, no secret
    outcomes: list[tuple[int, float]] = []

    async def run_client() -> None:
        async with PlainClient(address, TIMEOUT_S) as client:
            while time.perf_counter() < ends_s:
                await asyncio.sleep(drawn.expovariate(1 / crowd.pause_s))
                began_s = time.perf_counter()
                question = {"text": next(remaining), "source": "de", "target": "en"}
                status = await client.post("/v1/translate", question)
                outcomes.append((status, time.perf_counter() - began_s))

    await asyncio.gather(*(run_client() for _ in range(crowd.clients)))
    return outcomes


def start_job(http: httpx.Client, lines: Sequence[str]) -> str:
    """Start a job of these lines; return its id."""
    body = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    query = {"source": "de", "target": "en"}
    headers = {"Content-Type": "application/x-ndjson"}
    response = http.post("/v1/jobs", params=query, content=body, headers=headers).raise_for_status()
    job_id: str = response.json()["id"]
    return job_id


def num_done(http: httpx.Client, job_id: str) -> int:
    progress = http.get(f"/v1/jobs/{job_id}").raise_for_status().json()["progress"]
    return int(progress["done"])


def measure_phase(
    service: Service, texts: Sequence[str], crowd: ClientLoad, job_lines: Sequence[str] | None
) -> Phase:
    """Measure a phase with a job of these lines, which is cancelled at the end, or without a job."""
    rate = None
    with httpx.Client(base_url=service.address, timeout=TIMEOUT_S) as http:
        job_id = None if job_lines is None else start_job(http, job_lines)
        time.sleep(SETTLE_S)
        began_s, before = time.perf_counter(), 0 if job_id is None else num_done(http, job_id)
        outcomes = asyncio.run(ask(service.address, texts, crowd))
        if job_id is not None:
            rate = (num_done(http, job_id) - before) / (time.perf_counter() - began_s)
            http.delete(f"/v1/jobs/{job_id}").raise_for_status()
            time.sleep(SETTLE_S)
    good = [latency_s for status, latency_s in outcomes if status == httpx.codes.OK]
    return Phase(
        job_id is not None,
        len(outcomes),
        len(outcomes) - len(good),
        round(1e3 * percentile(good, 0.5), 1),
        round(1e3 * percentile(good, 0.99), 1),
        None if rate is None else round(rate, 1),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.jobs", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--pause", type=float, default=0.3, help="seconds, on average")
    parser.add_argument("--seconds", type=float, default=30.0, help="of a phase")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--job-texts", type=int, default=None, help="of a job in the engine at a time")
    parser.add_argument("--sentences", type=Path, default=SENTENCES, help="German text, a sentence a line")
    parser.add_argument("--output", type=Path, default=RESULTS / "jobs.json")
    arguments = parser.parse_args()
    crowd = ClientLoad(arguments.clients, arguments.pause, arguments.seconds)
    texts = read_texts(arguments.sentences, 3000)
    lines = list(distinct_lines(read_lines(arguments.sentences), JOB_LINES))
    settings: dict[str, str] = {}
    if arguments.job_texts is not None:
        settings["DRAGOMAN_JOB_TEXTS"] = str(arguments.job_texts)
    with service_process(arguments.bundle, CPUS, settings) as service:
        asyncio.run(ask(service.address, texts, ClientLoad(crowd.clients, crowd.pause_s, 5.0)))
        phases = [
            measure_phase(service, texts, crowd, job_lines)
            for _ in range(arguments.rounds)
            for job_lines in (None, lines)
        ]
    result = {"crowd": asdict(crowd), "job_texts": arguments.job_texts, **summarise(phases)}
    command = f"python -m bench.jobs {arguments.bundle} --clients {crowd.clients} --pause {crowd.pause_s:g}"
    write_result(arguments.output, provenance(arguments.bundle, command), result)
    sys.stdout.write(json.dumps(result, indent=1) + "\n")
    return 1 if any(phase.errors for phase in phases) else 0


def summarise(phases: Sequence[Phase]) -> dict[str, object]:
    """Return all phases, and the ratios of median latencies with a job to those without."""
    alone = [phase for phase in phases if not phase.has_job]
    with_job = [phase for phase in phases if phase.has_job]
    ratios = {
        f"{name}_beside_to_alone": round(
            statistics.median(getattr(one, name) for one in with_job)
            / statistics.median(getattr(one, name) for one in alone),
            2,
        )
        for name in ("p50_ms", "p99_ms")
    }
    return {**ratios, "phases": [asdict(phase) for phase in phases]}


if __name__ == "__main__":
    sys.exit(main())
