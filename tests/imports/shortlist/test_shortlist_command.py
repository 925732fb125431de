"""`python -m export.shortlist` on the tiny bundle."""

import json
from pathlib import Path
from shutil import copytree

import numpy as np
import pytest

from dragoman.bundle import open_bundle, read_bundle, verify_files
from dragoman.shortlist import SHORTLIST_FILE, Shortlist
from export import __main__ as export
from export.shortlist import __main__ as shortlist
from export.shortlist.install import ORIGIN_FIELD, copy_without_shortlist, write_shortlist
from export.shortlist.vocabularies import read_vocabularies
from export.validation import ValidationReport
from tests.imports.export.conftest import RunMain
from tests.paths import TINY

PAIRS = TINY / "pairs.tsv"


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return copytree(TINY / "bundle-int8", tmp_path / "tiny")


def everything(shortlist_bundle: Path) -> Shortlist:
    """All pieces but padding and the beginning, always."""
    vocabularies = read_vocabularies(read_bundle(shortlist_bundle))
    always = [piece for piece in range(vocabularies.target_size) if piece not in vocabularies.never]
    return Shortlist.of(
        np.array(always), np.zeros(vocabularies.source_size + 1, np.int64), np.empty(0, np.int64), 360
    )


def test_the_command_adds_a_shortlist_that_covers_the_models_output(
    bundle: Path, tmp_path: Path, run_main: RunMain
) -> None:
    held_out = tmp_path / "held-out.de"
    lines = [line.split("\t")[0] for line in PAIRS.read_text(encoding="utf8").splitlines()]
    held_out.write_text("\n".join(lines), encoding="utf8")

    done = run_main(shortlist.main, bundle, "--pairs", PAIRS, "--held-out", held_out, "--min-tokens", "1")

    assert done.status == 0

    manifest = open_bundle(bundle).manifest
    sizes, eos_id = manifest.sizes, manifest.special_ids.eos
    Shortlist.load(bundle / SHORTLIST_FILE, sizes.source_vocab, sizes.target_vocab, eos_id)
    facts = manifest.origin[ORIGIN_FIELD]
    assert facts["pairs"] == len(lines)
    assert facts["coverage"]["token_share"] > 0.9
    assert [path.name for path in bundle.parent.glob(".tiny*")] == []


@pytest.mark.parametrize(
    ("name", "arguments", "status", "problem"),
    [
        ("int8", ["--pairs", "nowhere.tsv"], 1, "nowhere.tsv"),
        ("int8", ["--pairs", PAIRS, "--num-always", "0"], 2, "num_always is 0"),
        ("int8", [], 2, "0 pairs to learn from"),
        ("fp32", ["--pairs", PAIRS], 1, "this bundle is fp32, but shortlists need int8"),
    ],
)
def test_a_rejected_shortlist_leaves_the_bundle_unchanged(
    tmp_path: Path, run_main: RunMain, name: str, arguments: list[str | Path], status: int, problem: str
) -> None:
    bundle = copytree(TINY / f"bundle-{name}", tmp_path / "tiny")
    before = {path.name: path.read_bytes() for path in bundle.iterdir()}

    done = run_main(shortlist.main, bundle, *arguments)

    assert done.status == status
    assert problem in done.errors
    assert {path.name: path.read_bytes() for path in bundle.iterdir()} == before
    assert [path.name for path in bundle.parent.iterdir()] == [bundle.name]


def test_a_shortlist_is_listed_in_the_manifest_and_can_be_removed(bundle: Path, tmp_path: Path) -> None:
    before = json.loads((bundle / "manifest.json").read_text(encoding="utf8"))
    write_shortlist(bundle, everything(bundle), {"num_always": 7})
    written = read_bundle(bundle)
    assert verify_files(written) == []
    assert SHORTLIST_FILE in written.manifest.files
    assert written.manifest.origin[ORIGIN_FIELD] == {"num_always": 7}
    copy_without_shortlist(bundle, tmp_path / "copy")
    assert not (tmp_path / "copy" / SHORTLIST_FILE).exists()
    assert json.loads((tmp_path / "copy" / "manifest.json").read_text(encoding="utf8")) == before
    assert (bundle / SHORTLIST_FILE).exists()


def test_the_vocabulary_of_the_tiny_bundle_is_read(bundle: Path) -> None:
    vocabularies = read_vocabularies(read_bundle(bundle))
    ids = read_bundle(bundle).manifest.special_ids
    (target,) = read_bundle(bundle).manifest.languages.targets.values()
    assert vocabularies.is_shared
    assert len(vocabularies.bytes) == 256
    assert set(vocabularies.never) == {ids.pad, *target.begin}
    assert {ids.eos, ids.unk} < set(vocabularies.spelling)


LIMITS = ("--max-source-tokens", "48", "--max-target-tokens", "64")


@pytest.fixture
def calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A sentence to calibrate on; what comes of it is not validated, which takes long."""
    monkeypatch.setattr("export.run.validate_in_fresh_process", lambda *_, **__: ValidationReport())
    path = tmp_path / "calibration.txt"
    path.write_text("Guten Morgen!\n", encoding="utf8")
    return path


def test_an_export_copies_the_shortlist_of_another_bundle_with_its_record(
    bundle: Path, tmp_path: Path, calibration: Path, run_main: RunMain
) -> None:
    """And rejects one that has none."""
    new, options = tmp_path / "new", ("--calibration", calibration, "--shortlist-of", bundle)
    command = (export.main, TINY / "checkpoint", new, *options, *LIMITS)

    rejected = run_main(*command)
    assert rejected.status == 1
    assert f"bundle {bundle}: has no shortlist.bin" in rejected.errors
    assert not new.exists()

    write_shortlist(bundle, everything(bundle), {"pairs": 12})
    assert run_main(*command).status == 0
    assert (new / SHORTLIST_FILE).read_bytes() == (bundle / SHORTLIST_FILE).read_bytes()
    assert open_bundle(new).manifest.origin[ORIGIN_FIELD] == {"pairs": 12}
