"""A result names the versions that were imported."""

import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from bench.provenance import provenance

BUNDLE = Path(__file__).parents[1] / "tiny" / "bundle-fp32"


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
