"""`python -m bench.robustness` writes what it measured."""

import json
import sys
from pathlib import Path

import pytest

from bench.robustness.__main__ import judge_references, main

TINY = Path(__file__).parents[1] / "tiny" / "bundle-fp32"


def test_the_result_has_every_beam_size_and_kind_and_says_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "robustness.json"
    monkeypatch.setattr(sys, "argv", ["robustness", str(TINY), "--output", str(output)])

    main()

    written = json.loads(output.read_text(encoding="utf8"))
    greedy, beam = written["results"]
    assert written["provenance"]["bundle"] == "bundle-fp32"
    assert (greedy["beam_size"], beam["beam_size"]) == (1, 4)
    assert sum(kind["inputs"] for kind in greedy["kinds"].values()) == greedy["all"]["inputs"]
    assert len(beam["failures"]) == round((1 - beam["all"]["good"]) * beam["all"]["inputs"])
    assert "de -> en, beam 4" in capsys.readouterr().out


def test_references_are_counted_by_what_is_found_fault_with(tmp_path: Path) -> None:
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("Ja.\nNein.\nGut.\nSo.\n", encoding="utf8")
    target.write_text("Yes.\nNo. But why?\nGood good good.\n\n", encoding="utf8")

    found = judge_references("a", (source, target))

    assert found == {"test_set": "a", "pairs": 4, "invented": 1, "loop": 1, "empty": 1}
