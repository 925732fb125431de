"""The wheel has all that an installation in an empty folder needs."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "setup.py", "MANIFEST.in")
PACKAGES = ("dragoman", "service", "export", "training", "models")
BYTECODE = shutil.ignore_patterns("__pycache__")
NEEDED = {
    "dragoman/graphs/rows",
    "dragoman/py.typed",
    "export/sentences/de.txt",
    "service/bundled_models/de-en/encoder.onnx",
    "service/bundled_models/en-de/manifest.json",
    "service/page/static/index.html",
    "service/schema/migrations/versions/schema_0001.py",
    "training/recipes/both.toml",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that the checkout gets no build folder."""
    copy = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, copy / name, ignore=BYTECODE)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    subprocess.run([*command, "--wheel-dir", "dist", "."], cwd=copy, check=True)
    (found,) = (copy / "dist").glob("dragoman-*.whl")
    return found


def test_the_wheel_has_code_models_page_and_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        (entry_points,) = (name for name in names if name.endswith("entry_points.txt"))
        commands = files.read(entry_points).decode()

    assert {need for need in NEEDED if not any(name.startswith(need) for name in names)} == set()
    assert [name for name in names if name.startswith(("tests/", "bench/", "models/"))] == []
    assert "dragoman = service.cli.app:main" in commands


def test_an_installed_wheel_translates_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    installed, empty = tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()
    with zipfile.ZipFile(wheel) as files:
        files.extractall(installed)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")}

    finished = subprocess.run(
        [sys.executable, "-m", "service", "translate", "Guten Morgen!", "--target", "en"],
        cwd=empty,
        env={**environment, "PYTHONPATH": str(installed)},
        capture_output=True,
        check=False,
    )

    assert (finished.stdout, finished.returncode) == (b"Good morning!\n", 0), finished.stderr.decode()
    assert list(empty.iterdir()) == []
