"""A result names the versions that were imported."""

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from bench.provenance import provenance
from bench.tables import origin_line
from dragoman.native.library import best_kernels
from dragoman.providers import SessionOptions
from tests.paths import TINY

BUNDLE = TINY / "bundle-fp32"


@pytest.mark.parametrize("name", ["numpy", "sentencepiece", "onnxruntime-gpu"])
def test_a_package_later_on_the_path_is_not_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    facts = tmp_path / f"{name.replace('-', '_')}-0.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n", encoding="utf8")
    before = provenance(BUNDLE, "x")["packages"]

    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    assert version(name)  # it is installed as far as others can tell
    assert provenance(BUNDLE, "x")["packages"] == before
    assert {"numpy", "sentencepiece"} < before.keys()


def test_a_result_says_which_kernels_ran() -> None:
    origin = provenance(TINY / "bundle-int8", "x")

    assert origin["kernels"] == (best_kernels() or "onnxruntime")
    assert f", kernels {origin['kernels']}; commit" in origin_line({"provenance": origin})
    assert provenance(TINY / "bundle-fp32", "x")["kernels"] == "onnxruntime"
    on_gpu = SessionOptions(providers=("cuda", "cpu"))
    assert provenance(TINY / "bundle-int8", "x", on_gpu)["kernels"] == "onnxruntime"
    assert provenance(TINY / "checkpoint", "x")["kernels"] is None
