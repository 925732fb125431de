"""Weights of a graph in files outside its bundle are not read."""

import hashlib
import json
import shutil
from pathlib import Path

import onnx
import pytest

from dragoman.errors import BundleError
from dragoman.routing.options import TranslatorOptions
from dragoman.routing.router import Router

TINY_BUNDLE = Path(__file__).resolve().parents[1] / "tiny" / "bundle-int8"
GRAPH = "decoder.onnx"


@pytest.mark.parametrize(
    ("location", "kernels"),
    [("{}", "auto"), ("{}", "onnxruntime"), ("../outside", "auto"), ("../outside", "onnxruntime")],
)
def test_a_bundle_with_weights_outside_is_not_opened(location: str, kernels: str, tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "bundle"
    shutil.copytree(TINY_BUNDLE, folder)
    graph = onnx.load(str(folder / GRAPH))
    weight = max(graph.graph.initializer, key=lambda one: len(one.raw_data))
    outside.write_bytes(weight.raw_data)
    entries = {"location": location.format(outside), "offset": "0", "length": str(len(weight.raw_data))}
    weight.ClearField("raw_data")
    weight.data_location = onnx.TensorProto.EXTERNAL
    for key, value in entries.items():
        weight.external_data.add(key=key, value=value)
    onnx.save(graph, str(folder / GRAPH))
    manifest = json.loads((folder / "manifest.json").read_text())
    content = (folder / GRAPH).read_bytes()
    manifest["files"][GRAPH] |= {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
    (folder / "manifest.json").write_text(json.dumps(manifest))

    with (
        Router.open({"tiny": folder}, translators=TranslatorOptions(kernels=kernels)) as router,  # type: ignore[arg-type]
        pytest.raises(BundleError, match="External data path"),
    ):
        router.translate("Hund", "de", "en")
