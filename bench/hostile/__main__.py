"""Ordinary clients next to hostile ones: are their responses right, how fast, and does memory stay flat?

A third of the clients send ordinary texts, whose right responses are recorded first; the others send the
requests of `bench.hostile.attacks` and `bench.hostile.clients`. All traffic stays on this machine.

`--kind` disables all other kinds of attacks. Exit status 1: an ordinary response was wrong or lost, or the
server answered 500.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.hostile.clients import (
    BEHAVIOURS,
    LEFT,
    NO_RESPONSE,
    Clock,
    ExpectedResponse,
    Record,
    Site,
    record_expected,
    run_hostile_client,
    run_ordinary_client,
)
from bench.page import RESULTS
from bench.peers.arrivals import percentile
from bench.provenance import provenance, write_result
from bench.server import service_process
from bench.soak import (
    CPUS,
    MIB,
    MemorySample,
    RequestOutcome,
    read_texts,
    resident_bytes,
    summarise_memory,
    timeline,
    watch_memory,
)
from bench.workloads import SENTENCES
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.keys import DEFAULT_SCOPES, NO_LIMITS, KeyOptions

NUM_TEXTS = 200
MAX_BINS = 60
SAMPLE_S = 1.0
SERVER_FAILED = 500
NAMES = {NO_RESPONSE: "no answer", LEFT: "left"}
"""Names of the values that stand for a status."""
SETTINGS: Mapping[str, str] = {
    "DRAGOMAN_REQUIRES_KEY": "true",
    "DRAGOMAN_CLIENT_TIMEOUT_S": "5",
    "DRAGOMAN_DOCUMENT_LIFETIME_S": "60",
    "DRAGOMAN_WEBHOOK_SECRET": "0123456789abcdef0123456789abcdef",
}


async def load(
    site: Site,
    known: Mapping[str, ExpectedResponse],
    clients: int,
    seconds: float,
    kinds: Sequence[str] = (*BEHAVIOURS,),
) -> Record:
    """Run all clients: a third of them are ordinary; the others are assigned the kinds of attacks in turn."""
    record, until = Record(), Clock(time.perf_counter(), seconds)
    sentences = [*known]
    num_ordinary = max(1, clients // 3)
    ordinary = [
        run_ordinary_client(site, known, record, until, number * len(known) // num_ordinary)
        for number in range(num_ordinary)
    ]
    hostile = [
        run_hostile_client(site, kinds[number % len(kinds)], sentences, record, until, number)
        for number in range(clients - num_ordinary)
    ]
    await asyncio.gather(*ordinary, *hostile)
    return record


def measure(
    bundle: Path, texts: Sequence[str], clients: int, minutes: float, kinds: Sequence[str]
) -> dict[str, Any]:
    """Record the right responses, run the load, and compare the responses once more afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'dragoman.db'}"
        keys = {"DRAGOMAN_DATABASE_URL": url, **SETTINGS}
        site_key = make_key(url)
        with service_process(bundle, CPUS, keys) as service:
            site = Site(service.address, site_key, "drg_0000000000000000_nobody")
            known = asyncio.run(record_expected(site, texts))
            with watch_memory(service.pid, SAMPLE_S) as seen, watch_children(service.pid) as children:
                record = asyncio.run(load(site, known, clients, 60 * minutes, kinds))
            try:
                settled = asyncio.run(record_expected(site, texts))
            except RuntimeError as error:
                print(f"afterwards: {error}")
                settled = {}
    wrong_afterwards = sum(known[text] != settled.get(text) for text in texts)
    return summarise(record, seen, max(children, default=0), wrong_afterwards)


def make_key(url: str) -> str:
    """Create an API key in a new database."""
    database = Database.open(url)
    try:
        overrides = KeyOptions("soak", DEFAULT_SCOPES, NO_LIMITS)
        return KeyStore(database).create(overrides, datetime.now(UTC)).presented
    finally:
        database.close()


@contextmanager
def watch_children(pid: int) -> Iterator[list[int]]:
    """Sample the resident bytes of all descendants of a process on a thread."""
    seen: list[int] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(SAMPLE_S):
            seen.append(sum(resident_of(child) for child in children_of(pid)))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


def children_of(pid: int) -> list[int]:
    """Return the ids of all descendants of a process (Linux)."""
    try:
        tasks = list(Path(f"/proc/{pid}/task").iterdir())
        lists = [(task / "children").read_text(encoding="ascii") for task in tasks]
    except OSError:
        return []  # the process has ended meanwhile
    children = [int(child) for listed in lists for child in listed.split()]
    return [*children, *(grandchild for child in children for grandchild in children_of(child))]


def resident_of(pid: int) -> int:
    """Return the resident bytes of a process; 0 if it has ended."""
    try:
        return resident_bytes(pid)
    except OSError:
        return 0


def summarise(
    record: Record, seen: Sequence[MemorySample], children_bytes: int, wrong_afterwards: int
) -> dict[str, Any]:
    """Summarise the load: wrong, lost and failed responses, latencies, memory, and statuses by kind."""
    good = [one.latency_s for one in record.ordinary if one.status == 200]  # noqa: PLR2004 -- OK
    everything = [*record.ordinary, *(one for answers in record.hostile.values() for one in answers)]
    return {
        "ordinary": {
            "requests": len(record.ordinary),
            "wrong": len(record.wrong),
            "lost": sum(one.status == NO_RESPONSE for one in record.ordinary),
            "wrong_afterwards": wrong_afterwards,
            "statuses": statuses(record.ordinary),
            "p50_ms": round(1e3 * percentile(good, 0.5), 1) if good else None,
            "p99_ms": round(1e3 * percentile(good, 0.99), 1) if good else None,
        },
        "server_errors": sum(one.status == SERVER_FAILED for one in everything),
        "memory": {
            **summarise_memory(seen),
            **thirds(seen),
            "children_most_mib": round(children_bytes / MIB, 1),
        },
        "hostile": {
            kind: {
                "requests": len(answers),
                "statuses": statuses(answers),
                "p99_ms": round(1e3 * percentile([one.latency_s for one in answers], 0.99), 1),
            }
            for kind, answers in sorted(record.hostile.items())
            if answers
        },
        "timeline": timeline(record.ordinary, seen, min(MAX_BINS, len(seen))),
    }


def statuses(answers: Sequence[RequestOutcome]) -> dict[str, int]:
    """Count responses by status, or by the name of the value that stands for it."""
    counts = Counter(NAMES.get(one.status, str(one.status)) for one in answers)
    return dict(sorted(counts.items()))


def thirds(seen: Sequence[MemorySample]) -> dict[str, float]:
    """Return the median memory in the second and the last third of the time; flat memory gives equal ones."""
    end_s = seen[-1].at_s
    second = [one.size_bytes for one in seen if end_s / 3 <= one.at_s < 2 * end_s / 3]
    last = [one.size_bytes for one in seen if one.at_s >= 2 * end_s / 3]
    return {
        "second_third_mib": round(statistics.median(second or last) / MIB, 1),
        "last_third_mib": round(statistics.median(last) / MIB, 1),
    }


def has_failed(result: Mapping[str, Any]) -> bool:
    """Return whether an ordinary response was wrong or lost, or the server failed."""
    ordinary = result["ordinary"]
    faults = [ordinary["wrong"], ordinary["lost"], ordinary["wrong_afterwards"], result["server_errors"]]
    return any(faults)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--kind", action="append", choices=[*BEHAVIOURS], help="of attacks; else all")
    parser.add_argument("--sentences", type=Path, default=SENTENCES, help="German text, a sentence a line")
    parser.add_argument("--output", type=Path, default=RESULTS / "hostile.json")
    arguments = parser.parse_args()
    texts = list(dict.fromkeys(read_texts(arguments.sentences, NUM_TEXTS)))
    kinds = arguments.kind or [*BEHAVIOURS]
    measured = measure(arguments.bundle, texts, arguments.clients, arguments.minutes, kinds)
    result = {"clients": arguments.clients, "minutes": arguments.minutes, "kinds": kinds, **measured}
    options = f"--clients {arguments.clients} --minutes {arguments.minutes:g}"
    options += "".join(f" --kind '{kind}'" for kind in arguments.kind or [])
    command = f"python -m bench.hostile {arguments.bundle} {options}"
    write_result(arguments.output, provenance(arguments.bundle, command), result)
    for name, found in result.items():
        if name == "hostile":
            for kind, answers in found.items():
                print(f"  {kind:24} {answers}")
        elif name != "timeline":
            print(f"{name:14} {found}")
    return 1 if has_failed(result) else 0


if __name__ == "__main__":
    sys.exit(main())
