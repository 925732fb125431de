"""Outputs of engines, without timing."""

from collections.abc import Sequence
from dataclasses import asdict

from bench.contenders import Worker
from bench.peers.protocol import Ids, Search
from bench.workloads import make_batches

BATCH_SOURCES = 32


def translate_sources(worker: Worker, sources: Sequence[Ids], search: Search) -> list[Ids]:
    """Return the best target ids of every source, in the order of the sources."""
    order = sorted(range(len(sources)), key=lambda index: -len(sources[index]))
    batches = make_batches([sources[index] for index in order], BATCH_SOURCES)
    reply = worker.ask({"do": "run", "batches": batches, "search": asdict(search)})
    flat = [ids for batch in reply["outputs"] for ids in batch]
    return [ids for _, ids in sorted(zip(order, flat, strict=True))]


def share_equal(outputs: Sequence[Ids], expected: Sequence[Ids]) -> float:
    """Return the share of sources with equal target ids."""
    return sum(ours == theirs for ours, theirs in zip(outputs, expected, strict=True)) / len(expected)
