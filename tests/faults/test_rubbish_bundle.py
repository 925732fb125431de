"""Rubbish in a model's folder: what is loaded goes on, the report names it, and a good bundle is served."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.conftest import URL, Server, serving
from tests.service.conftest import TINY_BUNDLE

OK = httpx.codes.OK
RUBBISH = b"rubbish " * 20_000


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(TINY_BUNDLE, folder / "tiny")
    return folder


@pytest.fixture(scope="module")
def server(models: Path) -> Iterator[Server]:
    """Shared: each test leaves valid bundles."""
    settings = {"models_dir": models, "reload_endpoint": True, "segment_cache_size": 0, "replicas": 1}
    with serving(models.with_suffix(".log"), {"model": None, **settings}) as running:
        yield running


def spoil(*names: str) -> Callable[[Path], None]:
    """As a copy over files would: the same files, other bytes, and a manifest that says nothing of it."""

    def overwrite(folder: Path) -> None:
        for name in names or [path.name for path in folder.iterdir()]:
            (folder / name).write_bytes(RUBBISH)

    return overwrite


def lose_a_graph(folder: Path) -> None:
    (folder / "decoder.onnx").unlink()


def change_manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    change(manifest)
    path.write_text(json.dumps(manifest), encoding="utf-8")


def describe_what_is_not_there(folder: Path) -> None:
    """A new manifest, whose files are still the old ones."""
    change_manifest(folder, lambda it: it["files"]["decoder.onnx"].update(sha256="0" * 64))


def translate(server: Server) -> str:
    response = server.client.post(URL, json={"text": "Das Kind spielt im Garten."})
    assert response.status_code == OK, response.text
    text: str = response.json()["translations"][0]["text"]
    return text


def reload(server: Server) -> dict[str, Any]:
    response = server.client.post("/v1/models/reload")
    assert response.status_code == OK, response.text
    report: dict[str, Any] = response.json()
    return report


@pytest.mark.parametrize(
    ("folder", "harm", "named"),
    [
        ("tiny", spoil("manifest.json"), "manifest.json"),
        ("tiny", spoil("encoder.onnx", "decoder.onnx"), "decoder.onnx"),
        ("tiny", spoil(), "manifest.json"),
        ("tiny", lose_a_graph, "decoder.onnx"),
        ("tiny", describe_what_is_not_there, "decoder.onnx"),
        ("another", spoil("encoder.onnx", "decoder.onnx"), "decoder.onnx"),
    ],
)
def test_loaded_models_keep_working_and_an_invalid_bundle_is_reported_until_it_is_fixed(
    server: Server, models: Path, folder: str, harm: Callable[[Path], None], named: str
) -> None:
    wanted = translate(server)
    shutil.copytree(TINY_BUNDLE, models / folder, dirs_exist_ok=True)
    harm(models / folder)

    for _ in range(2):
        [problem] = reload(server)["problems"]
        assert problem["folder"] == folder
        assert named in " ".join(problem["problems"])
        assert translate(server) == wanted
        assert server.client.get("/readyz").status_code == OK

    shutil.rmtree(models / folder)
    shutil.copytree(TINY_BUNDLE, models / folder)
    assert reload(server)["problems"] == []
    assert translate(server) == wanted
