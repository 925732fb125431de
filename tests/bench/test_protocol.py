"""What a worker answers, with an engine that reverses its sources."""

import os
import sys
from collections.abc import Iterator

import pytest

from bench.contenders import Contender, Worker, parse_variant, pin, running, share_equal
from bench.peers.protocol import Ids, Search, run
from bench.processes import memory, run_process
from tests.paths import TINY


class Reverser:
    def search(self, sources: list[Ids], search: Search) -> list[Ids]:
        return [source[::-1][: search.max_length_for(sources)] for source in sources]

    def versions(self) -> dict[str, str]:
        return {}


SEARCH = {"beam_size": 1}


@pytest.mark.parametrize("workers", [1, 2])
def test_outputs_come_batch_by_batch_in_the_order_given(workers: int) -> None:
    batches = [[[1, 2], [3]], [[4, 5, 6]], [[7]]]

    reply = run(Reverser(), workers, batches, SEARCH)

    assert reply["outputs"] == [[[2, 1], [3]], [[6, 5, 4]], [[7]]]
    assert reply["seconds"] > 0


def test_memory_now_is_at_most_the_peak() -> None:
    found = memory()

    assert 10_000_000 < found.resident_bytes <= found.peak_bytes + os.sysconf("SC_PAGESIZE")


def test_without_a_limit_the_longest_source_of_the_batch_sets_it() -> None:
    sources = [[1] * 4, [1] * 10]

    assert Search(beam_size=1).max_length_for(sources) == 40
    assert Search(beam_size=1, max_length=7).max_length_for(sources) == 7


def test_a_variant_is_a_name_a_bundle_and_options_in_json() -> None:
    variant = parse_variant("int8+shortlist=models/de-en,use_shortlist=true")

    assert variant == Contender(
        "Dragoman int8+shortlist", "dragoman", variant.model, options={"use_shortlist": True}
    )
    assert str(variant.model) == "models/de-en"


@pytest.mark.parametrize("text", ["", "int8", "=models/de-en", "int8=", "int8=models/de-en,beam"])
def test_a_malformed_variant_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match="NAME=BUNDLE"):
        parse_variant(text)


def test_the_share_of_equal_outputs_counts_whole_sentences() -> None:
    assert share_equal([[1, 2], [3], []], [[1, 2], [3, 4], []]) == pytest.approx(2 / 3)


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


LARGE_BYTES = 150 * 2**20
HOLD = f"import time; held = bytearray(b'x' * {LARGE_BYTES}); time.sleep(0.5)"
START = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}], check=True)"


@pytest.mark.parametrize("code", [HOLD, START], ids=["its own", "of a process that it starts"])
def test_the_peak_is_that_of_the_largest_process(code: str) -> None:
    measured = run_process(sys.executable, "-c", code)

    assert 2 * LARGE_BYTES <= measured.peak_bytes < 3 * LARGE_BYTES  # the bytes and their copy
