"""What a worker answers, with an engine that reverses its sources."""

import os

import pytest

from bench.contenders import Contender, parse_variant, pin, share_equal
from bench.peers.protocol import Ids, Search, run
from bench.processes import memory


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


def test_more_workers_than_cpus_are_rejected() -> None:
    with pytest.raises(ValueError, match="CPUs"):
        pin(0, 10_000)
