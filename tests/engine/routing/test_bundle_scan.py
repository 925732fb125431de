"""What a folder holds, what has changed in it, and how much memory its bundles need."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from dragoman.bundle import Bundle, open_bundle, read_bundle, verify_files
from dragoman.contract import CacheDType
from dragoman.errors import BundleError
from dragoman.manifest import FileRecord, Manifest, Sizes
from dragoman.routing.bundle_scan import BundleScanner, bundle_folders, open_with_retry
from dragoman.routing.memory import estimated_bytes, size_bytes
from tests.engine.routing.doubles import TOKENIZER, write_bundle


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two bundles, `a` and `b`."""
    for name in ("b", "a"):
        write_bundle(tmp_path / "models" / name, name)
    return tmp_path / "models"


@pytest.fixture
def inspector(folder: Path) -> BundleScanner:
    return BundleScanner(lambda: bundle_folders(folder), verify_files)


@pytest.fixture
def known(inspector: BundleScanner) -> Mapping[str, Bundle]:
    return inspector.scan_manifests().bundles


def replace_files(folder: Path, name: str) -> None:
    shutil.rmtree(folder / name)
    write_bundle(folder / name, name, filler="new")


def test_folders_are_bundles_by_name_but_hidden_ones_are_not(folder: Path) -> None:
    (folder / ".unfinished").mkdir()
    (folder / "a-file").touch()

    assert list(bundle_folders(folder)) == ["a", "b"]
    assert bundle_folders(folder / "absent") == {}


def test_the_first_scan_reads_manifests_alone(inspector: BundleScanner, folder: Path) -> None:
    (folder / "a" / "encoder.onnx").unlink()
    (folder / "b" / "manifest.json").unlink()

    findings = inspector.scan_manifests()

    assert findings.bundles.keys() == {"a"}
    assert findings.problems == {"b": ("manifest.json is missing",)}


@pytest.mark.parametrize("name", ["a", "c"])
def test_new_and_changed_bundles_are_verified_and_taken_once_they_are_whole(
    inspector: BundleScanner, folder: Path, known: Mapping[str, Bundle], name: str
) -> None:
    shutil.rmtree(folder / name, ignore_errors=True)
    write_bundle(folder / name, name, filler="new")
    decoder = folder / name / "decoder.onnx"
    whole = decoder.read_bytes()
    decoder.write_bytes(whole[:4])

    findings = inspector.scan(known)

    assert name not in findings.bundles
    (problem,) = findings.problems[name]
    assert problem.startswith("decoder.onnx has 4 bytes")
    decoder.write_bytes(whole)
    assert name in inspector.scan(known).bundles


def test_a_rejected_bundle_is_not_verified_again_until_a_file_changes(
    folder: Path,
) -> None:
    verified: list[str] = []

    def counting(bundle: Bundle) -> list[str]:
        verified.append(bundle.path.name)
        return verify_files(bundle)

    inspector = BundleScanner(lambda: bundle_folders(folder), counting)
    known = inspector.scan_manifests().bundles
    write_bundle(folder / "c", "c")
    (folder / "c" / "decoder.onnx").write_bytes(b"half")

    first, second = inspector.scan(known), inspector.scan(known)

    assert verified == ["c"]
    assert first.problems == second.problems
    (folder / "c" / "decoder.onnx").write_bytes(b"half more")
    inspector.scan(known)
    assert verified == ["c", "c"]


def test_a_folder_that_is_just_being_replaced_is_not_taken_for_removed(
    folder: Path, known: Mapping[str, Bundle]
) -> None:
    (folder / "a").rename(folder / ".old")
    num_looks = 0

    def find_folders() -> dict[str, Path]:
        nonlocal num_looks
        num_looks += 1
        if num_looks == 2:
            (folder / ".old").rename(folder / "a")
        return bundle_folders(folder)

    findings = BundleScanner(find_folders, verify_files).scan(known)

    assert findings.bundles == known
    assert findings.problems == {}


def test_a_bundle_that_just_has_no_folder_is_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").rename(folder / ".old")
    monkeypatch.setattr("time.sleep", lambda _: (folder / ".old").rename(folder / "a"))

    assert open_with_retry(open_bundle, folder / "a").manifest.name == "a"


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_bundle_that_is_damaged_is_tried_once_and_one_that_is_replaced_again_and_again_fails_in_the_end(
    folder: Path, *, is_replaced: bool
) -> None:
    tried: list[Path] = []

    def open_damaged(path: Path) -> Bundle:
        tried.append(path)
        if is_replaced:
            replace_files(folder, "a")
            manifest = folder / "a" / "manifest.json"
            manifest.write_text(manifest.read_text().replace("int8", str(manifest.stat().st_mtime_ns)))
        raise BundleError("a", ("is damaged",))

    with pytest.raises(BundleError, match="is damaged"):
        open_with_retry(open_damaged, folder / "a")
    assert (len(tried) > 1) is is_replaced


SMALL, OPUS = Sizes(2, 8, 32, 8000, 8000), Sizes(6, 8, 64, 32000, 32000)
WIDE, DEEP = Sizes(1, 16, 64, 8000, 8000), Sizes(6, 8, 32, 8000, 8000)
MANY_PIECES, FEW_PIECES = Sizes(2, 8, 64, 64000, 64000), Sizes(2, 8, 64, 8000, 8000)


@pytest.fixture
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return read_bundle(write_bundle(tmp_path_factory.mktemp("models") / "a", "a")).manifest


def of_size(
    manifest: Manifest, files_mb: float, precision: str, cache_dtype: CacheDType, sizes: Sizes
) -> Manifest:
    files = {"all": FileRecord("", round(files_mb * 1e6))}
    return replace(manifest, files=files, precision=precision, cache_dtype=cache_dtype, sizes=sizes)


@pytest.mark.parametrize(
    ("files_mb", "precision", "cache_dtype", "sizes", "measured_mb"),
    [  # by replicas: the growth of the process after opening and full load, on the CPU
        (12.6, "int8", "int8", SMALL, {1: 96, 2: 169, 4: 300}),
        (45.0, "fp32", "float32", SMALL, {1: 206, 2: 351, 4: 596}),
        (81.3, "int8", "int8", OPUS, {1: 437, 2: 710, 4: 1273}),
        (310.5, "fp32", "float32", OPUS, {1: 1052, 2: 1567, 4: 2773}),
        (50.5, "int8", "int8", WIDE, {1: 220}),
        (16.8, "int8", "int8", DEEP, {1: 187}),
        (85.4, "int8", "int8", MANY_PIECES, {1: 317}),
        (25.5, "int8", "int8", FEW_PIECES, {1: 156}),
    ],
)
def test_the_memory_estimate_is_at_least_the_measured_memory(
    manifest: Manifest,
    files_mb: float,
    precision: str,
    cache_dtype: CacheDType,
    sizes: Sizes,
    measured_mb: dict[int, int],
) -> None:
    described = of_size(manifest, files_mb, precision, cache_dtype, sizes)

    for replicas, measured in measured_mb.items():
        assert 0.93 <= estimated_bytes(described, replicas) / 1e6 / measured <= 1.25


def test_the_size_is_that_of_all_files(manifest: Manifest) -> None:
    assert size_bytes(manifest) == 1000 * len("encoder.onnxdecoder.onnx") + 2 * TOKENIZER.stat().st_size
