"""The comparison of kernels, and what results say about them."""

import json
from pathlib import Path

import pytest

from bench import kernels
from bench.provenance import provenance
from bench.tables import origin_line
from dragoman import KernelsError
from dragoman.native.library import best_kernels
from dragoman.providers import SessionOptions
from tests.bench.tiny_pairs import PAIRS, TINY, write_sides

needs_kernels = pytest.mark.skipif(
    not best_kernels(), reason="the kernels are not built, or not for this CPU"
)


@needs_kernels
def test_equal_lines_and_bleu_of_both_are_counted_for_each_set_and_beam(tmp_path: Path) -> None:
    files = write_sides(tmp_path, "known", PAIRS[:4])
    output = tmp_path / "kernels.json"

    kernels.main([str(TINY / "bundle-int8"), "--set", "known", *files, "--output", str(output)])

    result = json.loads(output.read_text(encoding="utf8"))
    assert result["kernels"] == ["onnxruntime", best_kernels()]
    assert result["results"] == [
        {
            "test_set": "known",
            "beam_size": beam_size,
            "lines": 4,
            "equal": 4,
            "bleu": {"onnxruntime": 100.0, best_kernels(): 100.0},
        }
        for beam_size in (1, 4)
    ]


@needs_kernels
def test_onnxruntime_is_never_measured_in_place_of_the_kernels() -> None:
    with pytest.raises(KernelsError):
        kernels.main(
            [str(TINY / "bundle-fp32"), "--set", "a", str(TINY / "pairs.tsv"), str(TINY / "pairs.tsv")]
        )


def test_a_result_says_which_kernels_ran() -> None:
    origin = provenance(TINY / "bundle-int8", "x")

    assert origin["kernels"] == (best_kernels() or "onnxruntime")
    assert f", kernels {origin['kernels']}; commit" in origin_line({"provenance": origin})
    assert provenance(TINY / "bundle-fp32", "x")["kernels"] == "onnxruntime"
    on_gpu = SessionOptions(providers=("cuda", "cpu"))
    assert provenance(TINY / "bundle-int8", "x", on_gpu)["kernels"] == "onnxruntime"
    assert provenance(TINY / "checkpoint", "x")["kernels"] is None
