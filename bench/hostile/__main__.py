"""Ordinary clients next to hostile ones: are their responses right, how fast, and does memory stay flat?

A third of the clients send ordinary texts, whose right responses are recorded first; the others send the
requests of `bench.hostile.attacks` and `bench.hostile.clients`. All traffic stays on this machine.

`--kind` disables all other kinds of attacks. Exit status 1: an ordinary response was wrong, lost or 5xx, or
the server answered 500.
"""

import asyncio
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from bench.clients import NO_RESPONSE, Clock, count_statuses, latencies_s, percentiles_ms, read_texts
from bench.command import Command, Options, show
from bench.hostile.attacks import draw_posts
from bench.hostile.clients import (
    BEHAVIOURS,
    NAMES,
    ExpectedResponse,
    Record,
    Site,
    record_expected,
    run_hostile_client,
    run_ordinary_client,
)
from bench.hostile.service import attacked_service, resident_bytes
from bench.processes import MIB, MemorySample, descendants, sample_memory
from bench.provenance import RESULTS
from bench.workloads import SENTENCES

NUM_TEXTS = 200
SAMPLE_S = 1.0
SERVER_ERRORS = 500
SHOWN = ("requests", "ordinary", "server_errors", "statuses_5xx", "memory")


async def load(
    site: Site,
    known: Mapping[str, ExpectedResponse],
    clients: int,
    seconds: float,
    kinds: Sequence[str] = (*BEHAVIOURS,),
    max_requests: int = sys.maxsize,
) -> Record:
    """Run all clients: a third of them are ordinary; the others are assigned the kinds of attacks in turn."""
    posts = {kind: draw_posts(kind, [*known]) for kind in kinds}
    record = Record()
    clock = Clock(time.perf_counter(), seconds, lambda: record.num_requests >= max_requests)
    num_ordinary = max(1, clients // 3)
    ordinary = [
        run_ordinary_client(site, known, record, clock, number * len(known) // num_ordinary)
        for number in range(num_ordinary)
    ]
    hostile = [
        run_hostile_client(site, kind, posts[kind], record, clock, number)
        for number, kind in enumerate(islice(cycle(kinds), clients - num_ordinary))
    ]
    await asyncio.gather(*ordinary, *hostile)
    return record


def measure(
    bundle: Path, texts: Sequence[str], clients: int, minutes: float, kinds: Sequence[str], max_requests: int
) -> dict[str, Any]:
    """Record the right responses, run the load, and compare the responses once more afterwards."""
    with attacked_service(bundle, kinds) as (site, pid):
        known = asyncio.run(record_expected(site, texts))
        with (
            sample_memory(lambda: resident_bytes(pid), SAMPLE_S) as seen,
            sample_memory(lambda: resident_bytes(*descendants(pid)), SAMPLE_S) as children,
        ):
            record = asyncio.run(load(site, known, clients, 60 * minutes, kinds, max_requests))
        try:
            settled = asyncio.run(record_expected(site, texts))
        except RuntimeError as error:
            print(f"afterwards: {error}")
            settled = {}
    wrong_afterwards = sum(known[text] != settled.get(text) for text in texts)
    return summarise(record, seen, max(one.size_bytes for one in children), wrong_afterwards)


def summarise(
    record: Record, seen: Sequence[MemorySample], children_bytes: int, wrong_afterwards: int
) -> dict[str, Any]:
    """Summarise the load: wrong, lost and failed responses, latencies, memory, and statuses by kind."""
    return {
        "requests": record.num_requests,
        "ordinary": {
            "requests": len(record.ordinary),
            "wrong": len(record.wrong),
            "lost": sum(one.status == NO_RESPONSE for one in record.ordinary),
            "wrong_afterwards": wrong_afterwards,
            "statuses": count_statuses(record.ordinary, NAMES),
            **percentiles_ms(latencies_s(record.ordinary), 50, 99),
        },
        "server_errors": sum(one.status >= SERVER_ERRORS for one in record.ordinary)
        + sum(one.status == SERVER_ERRORS for outcomes in record.hostile.values() for one in outcomes),
        "statuses_5xx": count_statuses(
            [one for one in record.everything if one.status >= SERVER_ERRORS], NAMES
        ),
        "memory": {**summarise_memory(seen), "children_most_mib": round(children_bytes / MIB, 1)},
        "hostile": {
            kind: {"requests": len(answers), "statuses": count_statuses(answers, NAMES)}
            | percentiles_ms([one.latency_s for one in answers], 99)
            for kind, answers in sorted(record.hostile.items())
            if answers
        },
    }


def summarise_memory(seen: Sequence[MemorySample]) -> dict[str, float]:
    """Return memory at the start, after a minute, at the end and at most, and the medians of two thirds.

    Flat memory gives equal medians for the second and the last third of the time.
    """
    part_s = seen[-1].at_s / 3
    last = [one.size_bytes for one in seen if one.at_s >= 2 * part_s]
    second = [one.size_bytes for one in seen if part_s <= one.at_s < 2 * part_s] or last
    sizes = {
        "start": seen[0].size_bytes,
        "one_minute": min(seen, key=lambda one: abs(one.at_s - 60)).size_bytes,
        "end": seen[-1].size_bytes,
        "most": max(one.size_bytes for one in seen),
        "second_third": statistics.median(second),
        "last_third": statistics.median(last),
    }
    return {f"{name}_mib": round(size_bytes / MIB, 1) for name, size_bytes in sizes.items()}


def has_failed(result: Mapping[str, Any]) -> bool:
    """Return whether an ordinary response was wrong or lost, or the server failed."""
    faults = [result["ordinary"][name] for name in ("wrong", "lost", "wrong_afterwards")]
    return any([*faults, result["server_errors"]])


def main() -> int:
    options: Options = {
        "--clients": 64,
        "--minutes": 30.0,
        "--requests after which the load ends earlier": int,
        "--kind of attacks": (*BEHAVIOURS,),
    }
    files = {"--sentences": SENTENCES, "--output": RESULTS / "hostile.json"}
    command = Command("hostile", __doc__, {"bundle": Path, **options, **files})
    arguments = command.parse()
    texts = list(dict.fromkeys(read_texts(arguments.sentences, NUM_TEXTS)))
    clients, minutes, kinds = arguments.clients, arguments.minutes, [*arguments.kind]
    result = measure(arguments.bundle, texts, clients, minutes, kinds, arguments.requests or sys.maxsize)
    command.write(arguments.bundle, {"clients": clients, "minutes": minutes, "kinds": kinds, **result})
    show({"kind": kind, **answers} for kind, answers in result["hostile"].items())
    show({name: result[name]} for name in SHOWN)
    return int(has_failed(result))


if __name__ == "__main__":
    sys.exit(main())
