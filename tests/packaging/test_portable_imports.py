"""Modules import on platforms that lack parts of the standard library, and without the optional packages."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

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
        # _kernels is no module: it is loaded by ctypes
        if not found.name.endswith(("__main__", "._kernels")) and ".migrations" not in found.name:
            importlib.import_module(found.name)
import export.__main__
from dragoman.cpus import available_cpus
from dragoman.graphs.process_memory import compacted_memory
from export.memory import peak_bytes
from service.server import _limit_arenas

def open_library(name):
    raise TypeError(f"{name} is no name of a library")  # as on Windows

ctypes.CDLL = open_library
with compacted_memory():
    assert available_cpus() >= 1
_limit_arenas()
assert peak_bytes() is None
"""

RUN_WITHOUT = """
import sys

sys.modules[sys.argv.pop(1)] = None
from service.cli.app import main
main()
"""


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_all_modules_import_without_names_that_only_some_platforms_have() -> None:
    finished = run_python(IMPORT_ALL, "resource", "fcntl")

    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    ("missing", "arguments", "extra"),
    [
        ("onnx", ["import", "owner/name"], "export"),
        ("pyarrow", ["batch", "{folder}/in.parquet", "-o", "{folder}/out.parquet"], "parquet"),
        ("pypdfium2", ["batch", "{folder}/in.pdf", "-o", "{folder}/out.docx"], "pdf"),
        ("ray", ["batch", "{folder}/in.txt", "-o", "{folder}/out.txt", "--engine", "ray"], "ray"),
    ],
)
def test_a_command_without_its_extra_says_in_one_line_what_to_install(
    tmp_path: Path, missing: str, arguments: list[str], extra: str
) -> None:
    for name in ("in.txt", "in.parquet", "in.pdf"):
        (tmp_path / name).write_bytes(b"eins\n")
    languages = ["--source", "de", "--target", "en"] if arguments[0] == "batch" else []

    finished = run_python(
        RUN_WITHOUT, missing, *(argument.format(folder=tmp_path) for argument in arguments), *languages
    )

    assert finished.returncode != 0
    assert len(finished.stderr.splitlines()) == 1, finished.stderr
    assert f"pip install 'dragoman[{extra}]'" in finished.stderr
