"""The wheel has all that an installation in an empty folder needs."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.paths import ROOT

SOURCES = ("pyproject.toml", "README.md", "LICENSE", "setup.py", "MANIFEST.in")
PACKAGES = ("dragoman", "service", "export", "training", "models")
BYTECODE = shutil.ignore_patterns("__pycache__", "*.so")
NEEDED = {
    "dragoman/graphs/rows",
    "dragoman/py.typed",
    "export/sentences/de.txt",
    "service/bundled_models/de-en/encoder.onnx",
    "service/bundled_models/en-de/manifest.json",
    "service/page/static/index.html",
    "service/translation/words/de.txt",
    "service/schema/migrations/versions/schema_0001.py",
    "training/recipes/both.toml",
}


KERNELS = "dragoman/native/_kernels.so"
NATIVE_SOURCES = {path.name for path in (ROOT / "dragoman" / "native" / "src").iterdir()}
HAS_COMPILER = shutil.which("c++") is not None
BUILD = "from setuptools import build_meta; build_meta.build_{}('dist')"
"""What pip runs, with the build's output."""


def build(copy: Path, kind: str, **environment: str) -> tuple[Path, str]:
    """Build from a copy, so that the checkout gets no build folder; return the file and what it prints."""
    for name in SOURCES:
        shutil.copy(ROOT / name, copy)
    for name in PACKAGES:
        shutil.copytree(ROOT / name, copy / name, ignore=BYTECODE)
    finished = subprocess.run(
        [sys.executable, "-c", BUILD.format(kind)],
        cwd=copy,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    (found,) = (copy / "dist").glob("dragoman-*")
    return found, finished.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("sources"), "wheel")[0]


@pytest.fixture(scope="module")
def wheel_without_compiler(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A wheel that was built where there is no compiler, and what the build said."""
    missing = dict.fromkeys(("CC", "CXX"), "/nonexistent/compiler")
    return build(tmp_path_factory.mktemp("sources"), "wheel", **missing)


def test_the_wheel_has_code_models_page_and_data(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
        (entry_points,) = (name for name in names if name.endswith("entry_points.txt"))
        commands = files.read(entry_points).decode()

    assert {need for need in NEEDED if not any(name.startswith(need) for name in names)} == set()
    assert [name for name in names if name.startswith(("tests/", "bench/", "models/"))] == []
    assert "dragoman = service.cli.app:main" in commands


def names_in(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as files:
        return files.namelist()


def translate(wheel: Path, installed: Path, empty: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Install a wheel into a folder, and translate a text with it in another."""
    shutil.unpack_archive(wheel, installed, "zip")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")}
    return subprocess.run(
        [sys.executable, "-m", "service", "translate", "Guten Morgen!", "--target", "en", *options],
        cwd=empty,
        env={**environment, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_an_installed_wheel_translates_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    installed, empty = tmp_path / "installed", tmp_path / "empty"
    empty.mkdir()

    finished = translate(wheel, installed, empty, *(("--kernels", "native") if HAS_COMPILER else ()))

    assert (finished.stdout, finished.returncode) == ("Good morning!\n", 0), finished.stderr
    assert list(empty.iterdir()) == []


@pytest.mark.skipif(not HAS_COMPILER, reason="no C++ compiler: apt-get install g++")
def test_the_wheel_has_the_kernels_of_its_platform_for_all_versions_of_python(wheel: Path) -> None:
    _, _, python, abi, system = wheel.stem.split("-")
    names = names_in(wheel)

    assert (python, abi, system) == (
        "py3",
        "none",
        sysconfig.get_platform().replace("-", "_").replace(".", "_"),
    )
    assert [name for name in names if name.startswith(KERNELS.removesuffix(".so"))] == [KERNELS]
    assert [name for name in names if name.endswith((".cpp", ".h"))] == []


def test_without_a_compiler_the_wheel_is_built_with_one_clear_line(
    wheel_without_compiler: tuple[Path, str],
) -> None:
    built, output = wheel_without_compiler
    lines = [line for line in output.splitlines() if "kernels were not built" in line]
    assert len(lines) == 1, output
    assert lines[0].startswith("The kernels were not built, so int8 models run on onnxruntime: ")
    assert "/nonexistent/compiler" in lines[0]
    assert built.stem.endswith("-py3-none-any")
    assert [name for name in names_in(built) if name.endswith(".so")] == []


@pytest.mark.parametrize(
    ("kernels", "text", "message"),
    [
        ("auto", "Good morning!\n", ""),
        ("native", "", "the kernels were not built when the package was installed"),
    ],
)
def test_without_kernels_a_model_runs_on_onnxruntime_unless_they_are_required(
    wheel_without_compiler: tuple[Path, str], tmp_path: Path, kernels: str, text: str, message: str
) -> None:
    built, _ = wheel_without_compiler

    finished = translate(built, tmp_path / "installed", tmp_path, "--kernels", kernels)

    assert (finished.stdout, finished.returncode == 0) == (text, not message), finished.stderr
    assert message in finished.stderr
    assert len(finished.stderr.splitlines()) == (1 if message else 0)


def test_a_source_distribution_has_the_sources_of_the_kernels(tmp_path: Path) -> None:
    built, _ = build(tmp_path, "sdist")
    with tarfile.open(built) as files:
        names = files.getnames()

    assert {Path(name).name for name in names if "/dragoman/native/src/" in name} >= NATIVE_SOURCES
    assert [name for name in names if name.endswith(".so")] == []
