"""The quick start of a model card works."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from export.model_card import render_card
from tests.imports.export.test_model_card import TINY, TINY_MANIFEST, code_of
from tests.paths import ROOT


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder whose models/ has the tiny bundle, by its name."""
    shutil.copytree(TINY / "bundle-int8", tmp_path / "models" / TINY_MANIFEST.name)
    return tmp_path


def run(command: list[str], folder: Path) -> str:
    """What is printed, with this tree's own packages."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_quick_starts_python_runs_unchanged(folder: Path) -> None:
    code = code_of(render_card(TINY_MANIFEST, "Many."), "python")

    assert run([sys.executable, "-c", code], folder)


def test_the_quick_starts_command_runs_unchanged(folder: Path) -> None:
    command = code_of(render_card(TINY_MANIFEST, "Many."), "sh").replace(
        "| dragoman ", f"| {sys.executable} -m service "
    )

    assert run(["/bin/bash", "-c", command], folder)
