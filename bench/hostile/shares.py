"""Latency of one key's small requests and small jobs: alone, and beside another key that attacks.

Each kind of attack gets a new server, which first serves the small requests and jobs alone. Exit status 1: a
response was wrong or lost, or the server failed.
"""

import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.clients import (
    OK,
    Clock,
    Post,
    RequestOutcome,
    count_statuses,
    latencies_s,
    percentiles_ms,
    read_texts,
    run_client,
)
from bench.command import Command, Options, show
from bench.hostile.__main__ import NAMES, NUM_TEXTS, SETTINGS, make_key
from bench.hostile.attacks import MULTIPART, encode_form
from bench.hostile.clients import (
    BEHAVIOURS,
    ExpectedResponse,
    Record,
    Site,
    build_files,
    record_expected,
    run_hostile_client,
    run_ordinary_client,
)
from bench.provenance import RESULTS
from bench.server import CPUS, service_process
from bench.workloads import SENTENCES

ACCEPTED = 202
JOB_LINES = 5
POLL_S = 0.02
PAUSE_S = 0.05
"""Pause in seconds before each request and each job: people pause, too."""
SETTLE_S = 2.0
"""Time in seconds from the start of an attack to the first small request."""


async def run_jobs(site: Site, texts: Sequence[str], clock: Clock, outcomes: list[RequestOutcome]) -> None:
    """Send small jobs one after the other, and wait for the end of each."""
    lines = "\n".join(texts[:JOB_LINES]).encode()
    post = Post("/v1/jobs", MULTIPART, encode_form({"source": "de", "target": "en"}, "a.txt", lines))

    async def ask() -> int:
        status, body = await site.ask(post)
        if status != ACCEPTED:
            return status
        job_id = json.loads(body)["id"]
        while True:
            status, body = await site.look(f"/v1/jobs/{job_id}")
            if status != OK or json.loads(body)["state"] not in {"queued", "running"}:
                return status
            await asyncio.sleep(POLL_S)

    await run_client(ask, clock, outcomes, lambda _: PAUSE_S)


async def run_small(site: Site, known: Mapping[str, ExpectedResponse], seconds: float) -> dict[str, Any]:
    """Send small requests and jobs; return percentiles of their latencies."""
    record, jobs, clock = Record(), list[RequestOutcome](), Clock(time.perf_counter(), seconds)
    await asyncio.gather(
        run_ordinary_client(site, known, record, clock, 0, PAUSE_S), run_jobs(site, [*known], clock, jobs)
    )
    return {
        name: {
            **percentiles_ms(latencies_s(outcomes), 50, 99),
            "statuses": count_statuses(outcomes, NAMES),
            "wrong": len(record.wrong) if name == "requests" else 0,
        }
        for name, outcomes in (("requests", record.ordinary), ("jobs", jobs))
    }


async def measure_kind(
    site: Site, kind: str, texts: Sequence[str], clients: int, seconds: float
) -> dict[str, Any]:
    """Measure small requests and jobs alone, then beside clients of one kind."""
    known = await record_expected(site, texts)
    alone = await run_small(site, known, seconds)
    attack = Record()
    clock = Clock(time.perf_counter(), SETTLE_S + seconds)
    hostile = [
        asyncio.create_task(run_hostile_client(site, kind, [*known], attack, clock, number))
        for number in range(clients)
    ]
    await asyncio.sleep(SETTLE_S)
    beside = await run_small(site, known, seconds)
    for one in hostile:
        one.cancel()
    await asyncio.gather(*hostile, return_exceptions=True)
    return {
        name: {
            "alone": alone[name],
            "beside": beside[name],
            "p99_ratio": round(beside[name]["p99_ms"] / alone[name]["p99_ms"], 2)
            if beside[name]["p99_ms"] and alone[name]["p99_ms"]
            else None,
        }
        for name in ("requests", "jobs")
    } | {"hostile": {"requests": attack.num_requests, "statuses": count_statuses(attack.everything, NAMES)}}


def has_failed(result: Mapping[str, Any]) -> bool:
    """Return whether a small response was wrong, lost or not 200."""
    return any(
        part["wrong"] or part["statuses"].keys() != {str(OK)}
        for name in ("requests", "jobs")
        for part in (result[name]["alone"], result[name]["beside"])
    )


def main() -> int:
    """Run the command."""
    options: Options = {
        "--clients": 8,
        "--seconds of each part": 20.0,
        "--kind of attacks": (*BEHAVIOURS,),
    }
    files = {"--sentences": SENTENCES, "--output": RESULTS / "hostile-shares.json"}
    command = Command("hostile.shares", __doc__, {"bundle": Path, **options, **files})
    arguments = command.parse()
    texts = list(dict.fromkeys(read_texts(arguments.sentences, NUM_TEXTS)))
    results: dict[str, Any] = {}
    build_files()
    for kind in arguments.kind:
        with tempfile.TemporaryDirectory() as folder:
            url = f"sqlite:///{folder}/dragoman.db"
            settings = {"DRAGOMAN_DATABASE_URL": url, **SETTINGS}
            with service_process(arguments.bundle, CPUS, settings) as service:
                site = Site(service.address, make_key(url), make_key(url))
                measured = measure_kind(site, kind, texts, arguments.clients, arguments.seconds)
                results[kind] = asyncio.run(measured)
        show(
            {
                "kind": kind,
                "what": name,
                **{f"p99_{part}_ms": results[kind][name][part]["p99_ms"] for part in ("alone", "beside")},
                "ratio": results[kind][name]["p99_ratio"],
                "statuses": results[kind][name]["beside"]["statuses"],
            }
            for name in ("requests", "jobs")
        )
        show([results[kind]["hostile"]])
    figures = {"clients": arguments.clients, "seconds": arguments.seconds, "kinds": results}
    command.write(arguments.bundle, figures)
    return int(any(map(has_failed, results.values())))


if __name__ == "__main__":
    sys.exit(main())
