"""The files in service/page/static are built from web/, by the versions that its lock file names."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from service.page.routes import STATIC

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
BUILD = "`make page` builds them"
INSTALL_TIMEOUT_S = 120


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_files_were_built_from_the_sources_as_they_are() -> None:
    digest = hashlib.sha256()
    sources = sorted(f"src/{path.name}" for path in (WEB / "src").iterdir())
    for name in ("build.mjs", "package-lock.json", *sources):
        digest.update(name.encode() + b"\0" + (WEB / name).read_bytes() + b"\0")

    assert (STATIC / "sources.sha256").read_text(encoding="ascii").strip() == digest.hexdigest(), BUILD


def test_a_build_gives_the_files_that_are_stored(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    web = tmp_path / "web"
    shutil.copytree(WEB, web, ignore=shutil.ignore_patterns("node_modules"))
    installed = subprocess.run(
        ["npm", "ci", "--prefer-offline", "--no-audit"],  # noqa: S607 -- wherever it is installed
        cwd=web,
        capture_output=True,
        text=True,
        timeout=INSTALL_TIMEOUT_S,
        check=False,
    )
    if installed.returncode:
        pytest.skip(f"npm cannot install what the build needs: {installed.stderr.strip()[-300:]}")

    subprocess.run(["npm", "run", "check"], cwd=web, check=True, capture_output=True)  # noqa: S607 -- the same
    subprocess.run(["node", "build.mjs", str(tmp_path / "static")], cwd=web, check=True)  # noqa: S607 -- the same

    assert contents(tmp_path / "static") == contents(STATIC), BUILD


def test_the_lock_file_names_versions_and_hashes_but_no_registry() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf8"))
    packages = {name: package for name, package in lock["packages"].items() if name}

    assert [
        name for name, package in packages.items() if not package["integrity"].startswith("sha512-")
    ] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []


def test_axe_is_the_pinned_version_and_carries_its_licence() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf8"))
    head = (ROOT / "tests" / "browser" / "axe.min.js").read_text(encoding="utf8")[:600]

    assert head.startswith(f"/*! axe v{lock['packages']['node_modules/axe-core']['version']}\n")
    assert "Mozilla Public" in head
