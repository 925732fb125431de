"""Compiles the kernels' sources, for this processor and others."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.paths import ROOT

HERE = Path(__file__).parent
SOURCES = ROOT / "dragoman" / "native" / "src"
FLAGS = ("-std=c++17", "-ffp-contract=off", "-fno-math-errno", "-Wno-psabi", f"-I{SOURCES}")
"""What decides about bits; see `setup.py`."""


def require(tool: str, debian_package: str) -> str:
    """Return the path of a program, or skip the test, saying what installs it."""
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"no {tool}: apt-get install {debian_package}")
    return path


def require_header(name: str, debian_package: str) -> None:
    """Skip the test if the C++ compiler has no such header."""
    compiler = require("g++", "g++")
    command = [compiler, "-E", "-x", "c++", "-include", name, "/dev/null", "-o", "/dev/null"]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip(f"no {name}: apt-get install {debian_package}")


def compile_program(program: Path, compiler: str, sources: Sequence[Path], flags: Sequence[str]) -> None:
    """Compile and link sources."""
    command = [compiler, *FLAGS, *flags, *map(str, sources), "-o", str(program)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr


def run_program(command: Sequence[str | Path]) -> str:
    """Run a program and return what it prints."""
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, f"{command} exited with {finished.returncode}: {finished.stderr}"
    return finished.stdout
