"""Bundles are found by folder or by name, and judged before they are trusted."""

from pathlib import Path

import pytest

from dragoman import BundleError
from service.engine import find_bundle, list_bundles


def test_a_folder_is_itself(models_dir: Path) -> None:
    assert find_bundle(str(models_dir / "tiny"), Path("nowhere")) == models_dir / "tiny"


def test_a_name_is_looked_up_in_the_models_folder(models_dir: Path) -> None:
    assert find_bundle("tiny", models_dir) == models_dir / "tiny"


def test_an_unknown_name_is_an_error_that_lists_the_known(models_dir: Path) -> None:
    with pytest.raises(BundleError, match=r"models in .*: tiny$"):
        find_bundle("tony", models_dir)


def test_a_bundle_that_verifies_has_no_problems(models_dir: Path) -> None:
    [listing] = list_bundles(models_dir)

    assert listing.name == "tiny"
    assert listing.bundle is not None
    assert listing.problems == ()


def test_each_folder_is_judged_on_its_own(models_dir: Path) -> None:
    (models_dir / "tiny" / "encoder.onnx").write_bytes(b"")
    (models_dir / "another").mkdir()
    (models_dir / ".unfinished").mkdir()
    (models_dir / "a-file").touch()

    listings = list_bundles(models_dir)

    assert [(listing.name, len(listing.problems)) for listing in listings] == [("another", 1), ("tiny", 1)]
    assert "manifest.json is missing" in listings[0].problems[0]
    assert "encoder.onnx has 0 bytes" in listings[1].problems[0]
