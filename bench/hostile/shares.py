"""Latency of one key's small requests and small jobs: alone, and beside another key that attacks.

Each kind of attack gets a new server, which first serves the small requests and jobs alone, for half of the
time. Latencies alone are those of all kinds together. Exit status 1: a response was wrong or lost, or the
server failed.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from bench.hostile.attacks import draw_posts, encode_form
from bench.hostile.clients import (
    ACCEPTED,
    BEHAVIOURS,
    NAMES,
    ExpectedResponse,
    Record,
    Site,
    record_expected,
    run_hostile_client,
    run_ordinary_client,
)
from bench.hostile.patterns import MULTIPART
from bench.hostile.service import attacked_service
from bench.provenance import RESULTS
from bench.workloads import SENTENCES

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

NICENESS = 10
"""Priority of the attack, whose clients would be on another machine."""


def attack(pipe: "Connection[Any, Any]", site: Site, kind: str, sentences: list[str], clients: int) -> None:
    """Send requests of one kind from the first message to the second; reply with their numbers by status."""
    os.nice(NICENESS)
    posts = draw_posts(kind, sentences)
    pipe.send(None)
    pipe.recv()

    async def run() -> Record:
        record, clock = Record(), Clock(0.0, float("inf"))
        running = [
            asyncio.create_task(run_hostile_client(site, kind, posts, record, clock, number))
            for number in range(clients)
        ]
        await asyncio.to_thread(pipe.recv)
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return record

    pipe.send(count_statuses(asyncio.run(run()).everything, NAMES))


@contextmanager
def attacking_process(
    site: Site, kind: str, sentences: list[str], clients: int
) -> Iterator["Connection[Any, Any]"]:
    """Start a process that runs `attack`; yield the connection to it when it is ready."""
    context = get_context("spawn")
    pipe, inner = context.Pipe()
    process = context.Process(target=attack, args=(inner, site, kind, sentences, clients), daemon=True)
    process.start()
    try:
        pipe.recv()
        yield pipe
    finally:
        process.terminate()
        process.join()


NUM_TEXTS, JOB_LINES = 50, 5
PAUSE_S = 0.02
"""Pause in seconds before each request and each job: people pause, too."""
SETTLE_S = 2.0
"""Time in seconds from the start of an attack to the first small request."""
ALONE_PART = 0.5
"""Time alone as a part of the time beside an attack."""


@dataclass(frozen=True, slots=True)
class SmallLoad:
    """Outcomes of small requests and small jobs."""

    record: Record = field(default_factory=Record)
    jobs: list[RequestOutcome] = field(default_factory=list)

    @property
    def outcomes(self) -> Mapping[str, Sequence[RequestOutcome]]:
        return {"requests": self.record.ordinary, "jobs": self.jobs}

    @property
    def has_failed(self) -> bool:
        """Return whether a response was wrong, lost or not 200."""
        everything = chain(self.record.ordinary, self.jobs)
        return bool(self.record.wrong) or any(one.status != OK for one in everything)


@dataclass(frozen=True, slots=True)
class Comparison:
    """A small load alone, the same beside an attack, and the attack's requests by status."""

    alone: SmallLoad
    beside: SmallLoad
    attack: Mapping[str, int]


async def run_jobs(site: Site, texts: Sequence[str], clock: Clock, outcomes: list[RequestOutcome]) -> None:
    """Send small jobs one after the other, and wait for the end of each."""
    lines = "\n".join(texts[:JOB_LINES]).encode()
    post = Post("/v1/jobs", MULTIPART, encode_form({"source": "de", "target": "en"}, "a.txt", lines))

    async def ask() -> int:
        status, body = await site.ask(post)
        if status != ACCEPTED:
            return status
        return await site.follow_job(json.loads(body)["id"])

    await run_client(ask, clock, outcomes, lambda _: PAUSE_S)


async def run_small(site: Site, known: Mapping[str, ExpectedResponse], seconds: float) -> SmallLoad:
    """Send small requests and jobs."""
    load, clock = SmallLoad(), Clock(time.perf_counter(), seconds)
    await asyncio.gather(
        run_ordinary_client(site, known, load.record, clock, 0, PAUSE_S),
        run_jobs(site, [*known], clock, load.jobs),
    )
    return load


def measure_kind(site: Site, kind: str, texts: Sequence[str], clients: int, seconds: float) -> Comparison:
    """Run small requests and jobs alone, then beside clients of one kind."""
    known = asyncio.run(record_expected(site, texts))
    with attacking_process(site, kind, [*known], clients) as pipe:
        alone = asyncio.run(run_small(site, known, ALONE_PART * seconds))
        pipe.send(None)
        time.sleep(SETTLE_S)
        beside = asyncio.run(run_small(site, known, seconds))
        pipe.send(None)
        return Comparison(alone, beside, pipe.recv())


def summarise(compared: Mapping[str, Comparison]) -> dict[str, Any]:
    """Return percentiles of latencies alone, beside each kind of attack, and the ratios of their p99."""
    alone = {
        name: [one for each in compared.values() for one in each.alone.outcomes[name]]
        for name in ("requests", "jobs")
    }
    base = {name: _percentiles(outcomes) for name, outcomes in alone.items()}
    kinds = {}
    for kind, each in compared.items():
        kinds[kind] = {
            name: {**percentiles, "p99_ratio": _ratio(percentiles["p99_ms"], base[name]["p99_ms"])}
            for name, percentiles in (
                (name, _percentiles(outcomes)) for name, outcomes in each.beside.outcomes.items()
            )
        } | {"wrong": len(each.alone.record.wrong) + len(each.beside.record.wrong), "attack": each.attack}
    return {"alone": base, "kinds": kinds}


def _percentiles(outcomes: Sequence[RequestOutcome]) -> dict[str, Any]:
    statuses = count_statuses(outcomes, NAMES)
    return {**percentiles_ms(latencies_s(outcomes), 50, 99), "statuses": statuses}


def _ratio(beside_ms: float | None, alone_ms: float | None) -> float | None:
    return round(beside_ms / alone_ms, 2) if beside_ms and alone_ms else None


def main() -> int:
    """Run the command."""
    options: Options = {
        "--clients": 8,
        "--seconds beside each attack": 20.0,
        "--kind of attacks": (*BEHAVIOURS,),
    }
    files = {"--sentences": SENTENCES, "--output": RESULTS / "hostile-shares.json"}
    command = Command("hostile.shares", __doc__, {"bundle": Path, **options, **files})
    arguments = command.parse()
    texts = list(dict.fromkeys(read_texts(arguments.sentences, NUM_TEXTS)))
    compared: dict[str, Comparison] = {}
    for kind in arguments.kind:
        with attacked_service(arguments.bundle, [kind]) as (site, _):
            compared[kind] = measure_kind(site, kind, texts, arguments.clients, arguments.seconds)
        show([{"kind": kind, **summarise(compared)["kinds"][kind]}])
    figures = summarise(compared)
    show({"alone": name, **percentiles} for name, percentiles in figures["alone"].items())
    command.write(arguments.bundle, {"clients": arguments.clients, "seconds": arguments.seconds, **figures})
    return int(any(part.has_failed for each in compared.values() for part in (each.alone, each.beside)))


if __name__ == "__main__":
    sys.exit(main())
