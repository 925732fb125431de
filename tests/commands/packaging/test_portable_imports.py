"""Modules import on platforms that lack parts of the standard library, and without the optional packages."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.paths import ROOT

IMPORT_ALL = """
import ctypes, importlib, os, pkgutil, signal, socket, sys

for module, name in (
    (signal, "SIGPIPE"), (os, "sched_getaffinity"), (socket, "AF_UNIX"), (socket, "SO_REUSEPORT")
):
    if hasattr(module, name):
        delattr(module, name)
if len(sys.argv) > 1:
    sys.modules.update(dict.fromkeys(sys.argv[1:]))
for package in ("dragoman", "service"):
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        # _kernels is no module: it is loaded by ctypes. dragoman.cuda needs an extra for Linux alone.
        if found.name.startswith("dragoman.cuda."):
            continue
        if not found.name.endswith(("__main__", "._kernels")) and ".migrations" not in found.name:
            importlib.import_module(found.name)
import export.__main__
from dragoman.cpus import available_cpus
from dragoman.graphs.process_memory import compacted_memory
from export.memory import peak_bytes
from service.server.server import _limit_arenas

def open_library(name):
    raise TypeError(f"{name} is no name of a library")  # as on Windows

ctypes.CDLL = open_library
with compacted_memory():
    assert available_cpus() >= 1
_limit_arenas()
assert peak_bytes() is None
"""

RUN_WITHOUT = """
import contextlib, io, json, sys

commands = json.loads(sys.argv[1])
sys.modules.update(dict.fromkeys(commands))
from service.cli.app import main

ended = {}
for missing, arguments in commands.items():
    sys.argv = ["dragoman", *arguments]
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        try:
            status = main()
        except SystemExit as exit:
            status = exit.code
    ended[missing] = [status, errors.getvalue()]
print(json.dumps(ended))
"""
PAIR = ("--source", "de", "--target", "en")
COMMANDS = {
    "onnx": ("import", "owner/name"),
    "pyarrow": ("batch", "in.parquet", "-o", "out.parquet", *PAIR),
    "pypdfium2": ("batch", "in.pdf", "-o", "out.docx", *PAIR),
    "ray": ("batch", "in.txt", "-o", "out.txt", "--engine", "ray", *PAIR),
}
"""Commands by the package that each needs."""


def run_python(code: str, *arguments: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Exit status and errors of each command in a process that has none of the packages, by the package."""
    folder = tmp_path_factory.mktemp("without")
    for name in ("in.txt", "in.parquet", "in.pdf"):
        (folder / name).write_bytes(b"eins\n")
    finished = run_python(RUN_WITHOUT, json.dumps(COMMANDS), folder=folder)
    assert (finished.returncode, finished.stderr) == (0, "")
    found: dict[str, tuple[int, str]] = json.loads(finished.stdout)
    return found


def test_all_modules_import_without_names_that_only_some_platforms_have() -> None:
    finished = run_python(IMPORT_ALL, "resource", "fcntl")

    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    ("missing", "extra"), [("onnx", "export"), ("pyarrow", "parquet"), ("pypdfium2", "pdf"), ("ray", "ray")]
)
def test_a_command_without_its_extra_says_in_one_line_what_to_install(
    ended: dict[str, tuple[int, str]], missing: str, extra: str
) -> None:
    status, errors = ended[missing]

    assert status != 0
    assert len(errors.splitlines()) == 1, errors
    assert f"dragoman[{extra}]" in errors
