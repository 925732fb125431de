"""Dragoman's own worker, as the coordinator starts it."""

from collections.abc import Iterator

import pytest

from bench.contenders import Contender, Worker, pin, running
from tests.paths import TINY

BUNDLE = TINY / "bundle-int8"


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with running([Contender("Dragoman int8", "dragoman", BUNDLE)], workers=1) as started:
        yield started["Dragoman int8"]


def test_every_source_gets_as_many_tokens_as_forced(worker: Worker) -> None:
    batches: list[list[list[int]]] = [[[10, 11, 12, 3], [20, 3]], [[9, 3]]]
    search = {"beam_size": 2, "min_length": 5, "max_length": 5}

    reply = worker.ask({"batches": batches, "search": search})

    assert [[len(ids) for ids in batch] for batch in reply["outputs"]] == [[5, 5], [5]]


def test_more_workers_than_cpus_are_rejected() -> None:
    with pytest.raises(ValueError, match="CPUs"):
        pin(0, 10_000)
