"""The comparison of kernels, and what results say about them."""

import json
from pathlib import Path

import pytest

from bench import kernels
from bench.provenance import provenance
from bench.tables import kernels_table, origin_line
from dragoman import KernelsError
from dragoman.native.library import best_kernels
from dragoman.providers import SessionOptions

TINY = Path(__file__).parents[1] / "tiny"
needs_kernels = pytest.mark.skipif(
    not best_kernels(), reason="the kernels are not built, or not for this CPU"
)


@needs_kernels
def test_equal_lines_and_bleu_of_both_are_counted_for_each_set_and_beam(tmp_path: Path) -> None:
    pairs = [line.split("\t") for line in (TINY / "pairs.tsv").read_text(encoding="utf8").splitlines()[:4]]
    for column, language in enumerate(("de", "en")):
        text = "".join(f"{pair[column]}\n" for pair in pairs)
        (tmp_path / f"known.{language}").write_text(text, encoding="utf8")
    files = [str(tmp_path / f"known.{language}") for language in ("de", "en")]
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


def test_older_results_say_nothing_of_kernels() -> None:
    origin = provenance(TINY / "bundle-int8", "x")
    del origin["kernels"]

    assert "kernels" not in origin_line({"provenance": origin})


def test_the_table_has_the_share_of_equal_lines_and_both_scores() -> None:
    row = {
        "test_set": "x|y",
        "beam_size": 4,
        "lines": 8,
        "equal": 7,
        "bleu": {"avx2": 2.0, "onnxruntime": 1.0},
    }
    result = {"provenance": {"bundle": "a"}, "kernels": ["onnxruntime", "avx2"], "results": [row]}

    assert kernels_table(result).splitlines()[2:] == ["| a | x\\|y | 4 | 8 | 87.5% | 1.00 | 2.00 |"]
