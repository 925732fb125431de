"""Arguments of the benchmarks, what a result records, prepared models, and answers of workers."""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from bench.command import Command, Words, show
from bench.contenders import Contender, parse_variant, pin, share_equal
from bench.models import COMPLETE, has_origin, origin_of
from bench.peers.protocol import Ids, Search, run
from bench.processes import memory
from bench.provenance import provenance
from bench.tables import origin_line
from dragoman.native.library import best_kernels
from dragoman.providers import SessionOptions
from tests.paths import TINY

BUNDLE = TINY / "bundle-int8"
DEFAULTS = {"bundle": Path, "--rounds": 5, "--fast": False, "--name": str}
LISTS = {"--sizes of calls": (1, 8), "--kind": ("a", "b"), "--files": [Path]}
WORDS = {"--set": Words(("NAME", "FILE")), "--pair": Words(("A", "B"), "once")}


def test_an_argument_has_the_type_of_its_default_and_a_list_has_the_values_given_or_its_default() -> None:
    words = ["b", "--rounds", "2", "--sizes", "3", "4", "--files", "x", "--files", "y"]

    found = vars(Command("x", None, {**DEFAULTS, **LISTS}).parse(words))

    assert found.pop("sizes") == [3, 4]
    assert found.pop("files") == [Path("x"), Path("y")]
    expected = {"bundle": Path("b"), "rounds": 2, "fast": False, "name": None}
    assert found == {**expected, "kind": ("a", "b"), "output": None}


def test_an_argument_of_several_words_is_a_list_if_it_may_be_given_several_times() -> None:
    command = Command("x", None, {"which": ("real", "forced"), **WORDS})

    found = vars(command.parse(["real", "--set", "a", "b", "--set", "c", "d", "--pair", "e", "f"]))

    assert found == {"which": "real", "set": [["a", "b"], ["c", "d"]], "pair": ["e", "f"], "output": None}


@pytest.mark.parametrize(
    "words",
    [["b", "--kind", "c"], ["b", "--rounds", "many"], [], ["b", "--set", "a"]],
    ids=["choice", "number", "missing", "word"],
)
def test_an_invalid_argument_is_rejected(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        Command("x", None, {**DEFAULTS, **LISTS, **WORDS}).parse(words)


def test_a_result_records_its_command_without_the_output_and_folders_of_this_machine(tmp_path: Path) -> None:
    output, texts = tmp_path / "new" / "x.json", tmp_path / "texts.de"
    texts.write_text("a\n", encoding="utf8")
    command = Command("x", None, {**DEFAULTS, **LISTS})
    arguments = command.parse([str(BUNDLE), "--output", str(output), "--files", str(texts), "--name", "a b"])

    command.write(arguments.bundle, {"results": [1]})

    result = json.loads(output.read_text(encoding="utf8"))
    assert (
        result["provenance"]["command"] == "python -m bench.x tiny/bundle-int8 --files texts.de --name 'a b'"
    )
    assert result["results"] == [1]
    assert list(output.parent.iterdir()) == [output]


def test_a_row_is_a_line_with_the_parts_of_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    show([{"engine": "e", "ms": {"median": 1.23456, "most": 20}}, {"rate": 123456.7}])

    assert capsys.readouterr().out == "engine e  ms (median 1.235, most 20)\nrate 123456.7\n"


CHECKPOINT = TINY / "checkpoint"


def test_a_folder_that_was_not_finished_or_has_other_weights_is_made_again(tmp_path: Path) -> None:
    origin = origin_of(str(CHECKPOINT))
    other = tmp_path / "other"
    other.mkdir()
    (other / "model.safetensors").write_bytes(b"other weights")
    assert not has_origin(tmp_path, origin)

    (tmp_path / COMPLETE).write_text(origin, encoding="utf8")

    found = [has_origin(tmp_path, one) for one in (origin, origin_of(str(other)), origin_of("opus-size"))]
    assert found == [True, False, False]


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


FP32_BUNDLE = TINY / "bundle-fp32"


@pytest.mark.parametrize("name", ["numpy", "sentencepiece", "onnxruntime-gpu"])
def test_a_package_later_on_the_path_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    facts = tmp_path / f"{name.replace('-', '_')}-0.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n", encoding="utf8")
    before = provenance(FP32_BUNDLE, "x")["packages"]

    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    assert version(name)  # it is installed as far as others can tell
    assert provenance(FP32_BUNDLE, "x")["packages"] == before
    assert {"numpy", "sentencepiece"} < before.keys()


def test_a_result_says_which_kernels_ran() -> None:
    origin = provenance(TINY / "bundle-int8", "x")

    assert origin["kernels"] == (best_kernels() or "onnxruntime")
    assert f", kernels {origin['kernels']}; commit" in origin_line({"provenance": origin})
    assert provenance(TINY / "bundle-fp32", "x")["kernels"] == "onnxruntime"
    on_gpu = SessionOptions(providers=("cuda", "cpu"))
    assert provenance(TINY / "bundle-int8", "x", on_gpu)["kernels"] == "onnxruntime"
    assert provenance(TINY / "checkpoint", "x")["kernels"] is None
