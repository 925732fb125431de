"""The files of a bundle, and weights in files that the manifest does not list."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.bundle import MAX_MANIFEST_BYTES, Bundle, file_sha256, open_bundle, read_bundle, verify_files
from dragoman.errors import BundleError
from dragoman.providers import Kernels
from dragoman.routing.options import TranslatorOptions
from dragoman.routing.router import Router
from tests.engine.bundle.conftest import write_manifest
from tests.paths import TINY


def problems_of(folder: Path) -> tuple[str, ...]:
    with pytest.raises(BundleError) as caught:
        open_bundle(folder)
    assert str(caught.value) == f"bundle {folder}: {'; '.join(caught.value.problems)}"
    return caught.value.problems


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    change(manifest)
    write_manifest(folder, manifest)


def list_file(folder: Path, name: str, content: bytes) -> None:
    """Vouch for a file of that content."""
    record = {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
    rewrite(folder, lambda manifest: manifest["files"].update({name: record}))


def test_a_good_bundle_opens_and_files_that_are_not_listed_do_not_matter(folder: Path) -> None:
    (folder / "notes.txt").write_text("not vouched for", encoding="utf-8")
    bundle = open_bundle(folder)

    assert bundle == Bundle(folder, read_bundle(folder).manifest)
    assert verify_files(bundle) == []


@pytest.mark.parametrize("place", [".", "absent", "encoder.onnx", "manifest.json"])
def test_without_a_manifest_there_is_no_bundle(place: str, folder: Path) -> None:
    """A folder of that name is none either, and other places have none."""
    (folder / "manifest.json").unlink()
    if place == "manifest.json":
        (folder / place).mkdir()

    assert problems_of(folder / place) == ("manifest.json is missing",)


def test_the_error_of_a_folder_of_bundles_names_them(folder: Path) -> None:
    problem = "manifest.json is missing; it contains bundles, so name one of them: "

    assert problems_of(folder.parent) == (problem + folder.name,)


def test_a_path_that_no_file_can_have_is_a_bundle_error(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path / ("x" * 300))

    assert problem.startswith("manifest.json cannot be read: ")


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"not json", b"{'name': 1}", b'{"name": "\xff"}', b"\xff\xfe\x00"),
        *(b'{"scores": NaN}', b'{"scores": -Infinity}', b'{"scores": 1e999}'),
        *(b'{"name": "\\ud800"}', b'{"\\udfff": 1}', b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000),
        *(b'{"a":' * 50_000 + b"1" + b"}" * 50_000, b"9" * 100_000),
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_manifest_that_is_not_strict_json_is_rejected(content: bytes, folder: Path) -> None:
    (folder / "manifest.json").write_bytes(content)
    (problem,) = problems_of(folder)

    assert problem.startswith("manifest.json is not JSON: ")


def test_a_huge_manifest_is_rejected_unread(folder: Path) -> None:
    manifest = (folder / "manifest.json").read_bytes()
    at_the_limit = manifest + b" " * (MAX_MANIFEST_BYTES - len(manifest))
    (folder / "manifest.json").write_bytes(at_the_limit)
    assert open_bundle(folder).path == folder

    (folder / "manifest.json").write_bytes(at_the_limit + b" ")

    assert problems_of(folder) == (f"manifest.json has more than {MAX_MANIFEST_BYTES} bytes",)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary() | st.text(alphabet='{}[]":,0tnull \\').map(str.encode))
def test_any_bytes_as_manifest_are_a_bundle_error(content: bytes, folder: Path) -> None:
    (folder / "manifest.json").write_bytes(content)

    assert problems_of(folder)


DAMAGED = "encoder.onnx is damaged: its sha256 differs from the manifest's"


@pytest.mark.parametrize("position", range(len(b"encoder")))
def test_one_flipped_bit_anywhere_is_found(position: int, folder: Path) -> None:
    content = bytearray((folder / "encoder.onnx").read_bytes())
    content[position] ^= 1
    (folder / "encoder.onnx").write_bytes(content)

    assert problems_of(folder) == (DAMAGED,)


@pytest.mark.parametrize(
    ("put", "problem"),
    [
        (lambda _: None, "encoder.onnx is missing"),
        (Path.mkdir, "encoder.onnx is missing"),
        (os.mkfifo, "encoder.onnx is missing"),  # and is not waited for
        (lambda path: path.symlink_to("nowhere"), "encoder.onnx is missing"),
        (lambda path: path.symlink_to(path), "encoder.onnx is missing"),
        (lambda path: path.write_bytes(b"encode"), "encoder.onnx has 6 bytes, the manifest says 7"),
        (lambda path: path.symlink_to("source.spm"), "encoder.onnx has 6 bytes, the manifest says 7"),
    ],
)
def test_anything_in_place_of_a_file_is_named(
    put: Callable[[Path], object], problem: str, folder: Path
) -> None:
    (folder / "encoder.onnx").unlink()
    put(folder / "encoder.onnx")

    assert problems_of(folder) == (problem,)


def test_all_files_at_fault_are_reported_at_once(folder: Path) -> None:
    (folder / "encoder.onnx").unlink()
    (folder / "decoder.onnx").write_bytes(b"other")
    (folder / "source.spm").write_bytes(b"PIECES")

    assert problems_of(folder) == (
        "encoder.onnx is missing",
        "decoder.onnx has 5 bytes, the manifest says 8",
        "source.spm is damaged: its sha256 differs from the manifest's",
    )


@pytest.mark.parametrize("name", ["x" * 300, "encoder.onnx/x", "a\x00b"])
def test_a_name_no_file_can_have_is_a_bundle_error(name: str, folder: Path) -> None:
    list_file(folder, name, b"content")
    (problem,) = problems_of(folder)

    assert problem.startswith(name)


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "a\\..\\b"])
def test_files_outside_are_not_even_checked(name: str, folder: Path) -> None:
    """A right hash does not help: the name alone is refused."""
    (folder.parent / "outside").write_bytes(b"outside")
    list_file(folder, name, b"outside")

    assert problems_of(folder) == (f"manifest.json: files: {name!r} does not name a file inside the bundle",)


def test_a_link_to_the_right_content_is_as_good_as_the_file(folder: Path) -> None:
    """Model caches keep content elsewhere and link to it; the manifest vouches for content."""
    (folder / "encoder.onnx").rename(folder.parent / "content")
    (folder / "encoder.onnx").symlink_to(folder.parent / "content")

    assert open_bundle(folder).path == folder


@given(content=st.binary())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sha256_is_of_the_whole_content(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)

    assert file_sha256(tmp_path / "file") == hashlib.sha256(content).hexdigest()


TINY_BUNDLE = TINY / "bundle-int8"
GRAPH = "decoder.onnx"


@pytest.mark.parametrize("kernels", ["auto", "onnxruntime"])
@pytest.mark.parametrize("location", ["{}", "../outside", "link", "unlisted", "encoder.onnx/../../outside"])
def test_a_bundle_with_weights_that_the_manifest_does_not_list_is_not_opened(
    location: str, kernels: Kernels, tmp_path: Path
) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "bundle"
    shutil.copytree(TINY_BUNDLE, folder)
    weight = move_largest_weight(folder, location.format(outside))
    for path in (outside, folder / "unlisted"):
        path.write_bytes(weight)
    (folder / "link").symlink_to(outside)

    with pytest.raises(BundleError, match="which the manifest does not list"):
        translate(folder, kernels)


@pytest.mark.parametrize("kernels", ["auto", "onnxruntime"])
def test_weights_in_a_file_of_the_manifest_are_read(kernels: Kernels, tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    shutil.copytree(TINY_BUNDLE, folder)
    weight = move_largest_weight(folder, "weights")
    (folder / "weights").write_bytes(weight)
    list_file(folder, "weights", weight)

    assert translate(folder, kernels) == translate(TINY_BUNDLE, kernels)


def move_largest_weight(folder: Path, location: str) -> bytes:
    """Make a graph look for its largest weight elsewhere; return the weight."""
    graph = onnx.load(str(folder / GRAPH))
    weight = max(graph.graph.initializer, key=lambda one: len(one.raw_data))
    content: bytes = weight.raw_data
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in {"location": location, "offset": "0", "length": str(len(content))}.items():
        weight.external_data.add(key=key, value=value)
    onnx.save(graph, str(folder / GRAPH))
    list_file(folder, GRAPH, (folder / GRAPH).read_bytes())
    return content


def translate(folder: Path, kernels: Kernels) -> str:
    with Router.open({"tiny": folder}, translators=TranslatorOptions(kernels=kernels)) as router:
        return router.translate("Hund", "de", "en").translation.text
