"""`python -m export.confidence` on the tiny bundle."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.bundle import open_bundle
from export.bundle import ExportError
from export.confidence import main, read_line_pairs
from export.confidence_fit import ORIGIN_FIELD
from tests.imports.export.conftest import RunMain
from tests.paths import TINY


@pytest.fixture
def text(tmp_path: Path) -> tuple[Path, Path]:
    """Sentences that the model knows, and the same letters backwards, which it cannot translate."""
    pairs = [line.split("\t") for line in (TINY / "pairs.tsv").read_text(encoding="utf8").splitlines()]
    source, target = tmp_path / "text.de", tmp_path / "text.en"
    source.write_text("".join(f"{side}\n" for de, _ in pairs for side in (de, de[::-1])), encoding="utf8")
    target.write_text("".join(f"{en}\n{en}\n" for _, en in pairs), encoding="utf8")
    return source, target


def test_the_command_writes_a_map_that_separates_good_translations_from_others(
    bundle: Path, text: tuple[Path, Path]
) -> None:
    before = json.loads((bundle / "manifest.json").read_text(encoding="utf8"))

    command = [sys.executable, "-m", "export.confidence", str(bundle), "--pairs", *map(str, text)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    after = json.loads((bundle / "manifest.json").read_text(encoding="utf8"))
    assert after.pop("confidence")["logprob"] > 0
    facts = after["origin"].pop(ORIGIN_FIELD)
    assert facts["good_chrf"] == 50.0
    assert 50 < facts["lines"] <= 100
    assert 0.5 < facts["good_share"] < 0.65
    assert after == before
    with Translator.open(bundle, replicas=1) as translator:
        good, bad = (
            translator.translate(line).confidence or 0 for line in ("Ich bin müde.", ".edüm nib hcI")
        )
    assert bad < 0.5 < good


def test_the_map_is_the_same_again_even_if_the_bundle_has_one_already(
    bundle: Path, text: tuple[Path, Path], run_main: RunMain
) -> None:
    run_main(main, bundle, "--pairs", *text)
    first = open_bundle(bundle).manifest

    done = run_main(main, bundle, "--pairs", *text)

    assert done.status == 0, done.errors
    assert first.confidence is not None
    assert open_bundle(bundle).manifest == first


def test_pairs_that_cannot_calibrate_leave_the_bundle_unchanged(
    bundle: Path, text: tuple[Path, Path], run_main: RunMain
) -> None:
    before = (bundle / "manifest.json").read_bytes()

    few = run_main(main, bundle, "--pairs", *text, "--max-lines", "10")
    only_known = run_main(main, bundle, "--pairs", *text, "--lines", "odd")
    missing = run_main(main, bundle, "--pairs", text[0], "nowhere.en")

    assert [one.status for one in (few, only_known, missing)] == [1, 1, 1]
    assert "the fit needs at least 20 of each" in few.errors
    assert "50 translations are good and 0 are not" in only_known.errors
    assert "nowhere.en: No such file" in missing.errors
    assert (bundle / "manifest.json").read_bytes() == before


def test_odd_and_even_lines_share_no_line_and_blank_lines_are_left_out(tmp_path: Path) -> None:
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("1\n2\n3\n4\n \n6\n", encoding="utf8")
    target.write_text("a\nb\nc\nd\ne\n\n", encoding="utf8")

    assert read_line_pairs(source, target, "odd") == [("1", "a"), ("3", "c")]
    assert read_line_pairs(source, target, "even") == [("2", "b"), ("4", "d")]
    assert read_line_pairs(source, target, "all") == [("1", "a"), ("2", "b"), ("3", "c"), ("4", "d")]


def test_files_of_different_length_are_rejected_with_both_counts(tmp_path: Path) -> None:
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("1\n2\n", encoding="utf8")
    target.write_text("a\n", encoding="utf8")

    with pytest.raises(ExportError, match=r"a\.de has 2 lines, but .*a\.en has 1"):
        read_line_pairs(source, target, "all")
