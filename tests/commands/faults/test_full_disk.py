"""A full disk or rubbish in a model's folder: the rest goes on, and all works again afterwards."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from service.accounts.accounts import Accounts
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from tests.commands.faults.conftest import URL, Server, StartServer, serving
from tests.service.accounts.conftest import new_key
from tests.service.conftest import TINY_BUNDLE
from tests.service.test_hostile_requests import assert_is_error

DISK = "2m"
OK = httpx.codes.OK


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A tiny file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(folder)]
    if os.geteuid() or mount is None or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a file system, and only where that is allowed")
    yield folder
    subprocess.run([shutil.which("umount") or "umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """A file that takes all the room there is."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            return filler


def test_a_full_disk_fails_only_requests_that_are_charged_until_there_is_space(
    disk: Path, start_server: StartServer
) -> None:
    url = f"sqlite:///{disk / 'accounts.db'}"
    with closing(Database.open(url)) as database:
        key = new_key(KeyStore(database)).presented
    server = start_server(database_url=url)

    def ask(headers: dict[str, str]) -> httpx.Response:
        return server.client.post(URL, json={"text": "Ja."}, headers=headers)

    with_key = {"Authorization": f"Bearer {key}"}
    assert ask(with_key).status_code == OK
    filler = fill(disk)

    for _ in range(3):
        refused = ask(with_key)
        assert_is_error(refused, 503, "store_unavailable")
        assert refused.headers["Retry-After"]
        assert key not in refused.text
        assert str(disk) not in refused.text
        assert ask({}).status_code == OK
    assert {server.client.get(path).status_code for path in ("/healthz", "/readyz")} == {OK}
    assert "the accounts database failed" in server.log.read_text()

    filler.unlink()
    assert ask(with_key).status_code == OK
    assert server.stop() == 0
    with closing(Accounts.open(url, requires_key=False)) as accounts:
        assert accounts.usage(accounts.identify(key)).characters == 2 * len("Ja.")


RUBBISH = b"rubbish " * 20_000
TEXT = "Das Kind spielt im Garten."


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


def describe_what_is_not_there(folder: Path) -> None:
    """A new manifest, whose files are still the old ones."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    manifest["files"]["decoder.onnx"]["sha256"] = "0" * 64
    path.write_text(json.dumps(manifest), encoding="utf-8")


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
    wanted = server.translate(TEXT)
    shutil.copytree(TINY_BUNDLE, models / folder, dirs_exist_ok=True)
    harm(models / folder)

    for _ in range(2):
        [problem] = reload(server)["problems"]
        assert problem["folder"] == folder
        assert named in " ".join(problem["problems"])
        assert server.translate(TEXT) == wanted
        assert server.client.get("/readyz").status_code == OK

    shutil.rmtree(models / folder)
    shutil.copytree(TINY_BUNDLE, models / folder)
    assert reload(server)["problems"] == []
    assert server.translate(TEXT) == wanted
