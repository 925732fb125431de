"""Rubbish in a model's folder: what is loaded goes on, the report names it, and a good bundle is served."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.faults.conftest import URL, Server, StartServer
from tests.service.conftest import TINY_BUNDLE

OK = httpx.codes.OK
RUBBISH = b"rubbish " * 20_000


@pytest.fixture
def models(tmp_path: Path) -> Path:
    shutil.copytree(TINY_BUNDLE, tmp_path / "models" / "tiny")
    return tmp_path / "models"


@pytest.fixture
def server(start_server: StartServer, models: Path) -> Server:
    return start_server(model=None, models_dir=models, reload_endpoint=True, segment_cache_size=0, replicas=1)


def spoil_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_bytes(RUBBISH)


def spoil_graphs_in_place(folder: Path) -> None:
    """As a copy over them would: the same files, other bytes, and a manifest that says nothing of it."""
    for name in ("encoder.onnx", "decoder.onnx"):
        (folder / name).write_bytes(RUBBISH)


def spoil_everything(folder: Path) -> None:
    for path in folder.iterdir():
        path.write_bytes(RUBBISH)


def lose_a_graph(folder: Path) -> None:
    (folder / "decoder.onnx").unlink()


def describe_what_is_not_there(folder: Path) -> None:
    """A new manifest, whose files are still the old ones."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["files"]["decoder.onnx"]["sha256"] = "0" * 64
    path.write_text(json.dumps(manifest), encoding="utf-8")


def translate(server: Server) -> str:
    response = server.client.post(URL, json={"text": "Das Kind spielt im Garten."})
    assert response.status_code == OK, response.text
    text: str = response.json()["translations"][0]["text"]
    return text


def reload(server: Server) -> dict[str, object]:
    response = server.client.post("/v1/models/reload")
    assert response.status_code == OK, response.text
    report: dict[str, object] = response.json()
    return report


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (spoil_manifest, "manifest.json"),
        (spoil_graphs_in_place, "decoder.onnx"),
        (spoil_everything, "manifest.json"),
        (lose_a_graph, "decoder.onnx"),
        (describe_what_is_not_there, "decoder.onnx"),
    ],
)
def test_loaded_models_keep_working_and_an_invalid_bundle_is_reported_until_it_is_fixed(
    server: Server, models: Path, spoil: Callable[[Path], None], named: str
) -> None:
    wanted = translate(server)
    spoil(models / "tiny")

    for _ in range(2):
        report = reload(server)
        problems = report["problems"]
        assert isinstance(problems, list)
        [problem] = problems
        assert problem["folder"] == "tiny"
        assert named in " ".join(problem["problems"])
        assert {"added": [], "changed": [], "removed": []}.items() <= report.items()
        assert translate(server) == wanted
        assert server.client.get("/readyz").status_code == OK

    shutil.rmtree(models / "tiny")
    shutil.copytree(TINY_BUNDLE, models / "tiny")
    assert reload(server)["problems"] == []
    assert translate(server) == wanted


def test_a_valid_bundle_that_replaces_an_invalid_one_is_served(server: Server, models: Path) -> None:
    spoil_everything(models / "tiny")
    reload(server)
    shutil.rmtree(models / "tiny")
    shutil.copytree(TINY_BUNDLE, models / "tiny")
    path = models / "tiny" / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**manifest, "name": "mended"}), encoding="utf-8")

    assert reload(server)["changed"] == ["tiny"]

    assert translate(server)
    assert server.client.get("/v1/models").json()["models"][0]["name"] == "mended"


def test_an_invalid_bundle_does_not_affect_another_model(server: Server, models: Path) -> None:
    wanted = translate(server)
    shutil.copytree(TINY_BUNDLE, models / "other")
    spoil_graphs_in_place(models / "other")

    problems = reload(server)["problems"]

    assert isinstance(problems, list)
    assert [problem["folder"] for problem in problems] == ["other"]
    assert translate(server) == wanted
