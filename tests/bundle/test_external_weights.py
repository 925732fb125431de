"""Weights of a graph in files that the manifest does not list are not read."""

import hashlib
import json
import shutil
from pathlib import Path

import onnx
import pytest

from dragoman.errors import BundleError
from dragoman.providers import Kernels
from dragoman.routing.options import TranslatorOptions
from dragoman.routing.router import Router

TINY_BUNDLE = Path(__file__).resolve().parents[1] / "tiny" / "bundle-int8"
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
    (folder / "weights").write_bytes(move_largest_weight(folder, "weights"))
    add_to_manifest(folder, "weights")

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
    add_to_manifest(folder, GRAPH)
    return content


def add_to_manifest(folder: Path, name: str) -> None:
    """List a file as it is now."""
    manifest = json.loads((folder / "manifest.json").read_text())
    content = (folder / name).read_bytes()
    record = {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
    manifest["files"][name] = record
    (folder / "manifest.json").write_text(json.dumps(manifest))


def translate(folder: Path, kernels: Kernels) -> str:
    with Router.open({"tiny": folder}, translators=TranslatorOptions(kernels=kernels)) as router:
        return router.translate("Hund", "de", "en").translation.text
