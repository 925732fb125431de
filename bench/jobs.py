"""Latency of interactive requests with and without a running job, and the job's speed meanwhile.

Clients send one sentence at a time and pause before the next, as people do. Phases with and without a job
take turns in one process of the service.
"""

import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

from bench.clients import OK, TIMEOUT_S, RequestOutcome, latencies_s, percentiles_ms, read_texts, run_clients
from bench.command import Command, Options, show
from bench.provenance import RESULTS
from bench.server import CPUS, service_process
from bench.workloads import SEED, SENTENCES, distinct_lines, read_lines

JOB_LINES = 20_000
"""Number of lines of a job: more than are translated in a phase."""
SETTLE_S = 3.0
"""Wait in seconds before a phase and after its job: the engine fills with a job, or finishes its rest."""
WARM_UP_S = 5.0


@dataclass(frozen=True, slots=True)
class ClientLoad:
    """The clients of a phase, and its length."""

    clients: int
    pause_s: float
    """Mean pause, exponentially distributed."""
    seconds: float

    def run(self, address: str, texts: Sequence[str]) -> list[RequestOutcome]:
        """Run the clients."""
        drawn = random.Random(SEED)  # noqa: S311 -- a workload, no secret
        pause = 1 / self.pause_s
        load = run_clients(address, texts, self.clients, self.seconds, lambda _: drawn.expovariate(pause))
        return asyncio.run(load)


def start_job(http: httpx.Client, lines: Sequence[str]) -> str:
    """Start a job of these lines; return its path."""
    body = "".join(json.dumps({"text": line}) + "\n" for line in lines)
    query = {"source": "de", "target": "en"}
    headers = {"Content-Type": "application/x-ndjson"}
    response = http.post("/v1/jobs", params=query, content=body, headers=headers).raise_for_status()
    return f"/v1/jobs/{response.json()['id']}"


def num_done(http: httpx.Client, job: str) -> int:
    return int(http.get(job).raise_for_status().json()["progress"]["done"])


def measure_phase(
    address: str, texts: Sequence[str], load: ClientLoad, job_lines: Sequence[str]
) -> dict[str, Any]:
    """Measure a phase with a job of these lines, which is cancelled at the end, or without a job."""
    rate = None
    with httpx.Client(base_url=address, timeout=TIMEOUT_S) as http:
        job = start_job(http, job_lines) if job_lines else None
        time.sleep(SETTLE_S)
        began_s, before = time.perf_counter(), num_done(http, job) if job else 0
        outcomes = load.run(address, texts)
        if job is not None:
            rate = round((num_done(http, job) - before) / (time.perf_counter() - began_s), 1)
            http.delete(job).raise_for_status()
            time.sleep(SETTLE_S)
    return {
        "has_job": job is not None,
        "requests": len(outcomes),
        "errors": sum(one.status != OK for one in outcomes),
        **percentiles_ms(latencies_s(outcomes), 50, 99),
        "job_entries_per_s": rate,
    }


def summarise(phases: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return all phases, and the ratios of median latencies with a job to those without."""
    ratios = {}
    for name in ("p50_ms", "p99_ms"):
        with_job, alone = (
            statistics.median(phase[name] for phase in phases if phase["has_job"] == has_job)
            for has_job in (True, False)
        )
        ratios[f"{name}_beside_to_alone"] = round(with_job / alone, 2)
    return {**ratios, "phases": list(phases)}


def main() -> int:
    options: Options = {"--clients": 8, "--pause in seconds, on average": 0.3, "--seconds of a phase": 30.0}
    options |= {"--rounds": 3, "--job-texts of a job in the engine at a time": int}
    files = {"--sentences": SENTENCES, "--output": RESULTS / "jobs.json"}
    command = Command("jobs", __doc__, {"bundle": Path, **options, **files})
    arguments = command.parse()
    load = ClientLoad(arguments.clients, arguments.pause, arguments.seconds)
    texts = read_texts(arguments.sentences, 3000)
    lines = list(distinct_lines(read_lines(arguments.sentences), JOB_LINES))
    job_texts = arguments.job_texts
    settings = {} if job_texts is None else {"DRAGOMAN_JOB_TEXTS": str(job_texts)}
    with service_process(arguments.bundle, CPUS, settings) as service:
        ClientLoad(load.clients, load.pause_s, WARM_UP_S).run(service.address, texts)
        phases = [
            measure_phase(service.address, texts, load, job_lines)
            for _ in range(arguments.rounds)
            for job_lines in ([], lines)
        ]
    show(phases)
    command.write(arguments.bundle, {"crowd": asdict(load), "job_texts": job_texts, **summarise(phases)})
    return int(any(phase["errors"] for phase in phases))


if __name__ == "__main__":
    sys.exit(main())
