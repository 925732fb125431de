"""Folders that take long to make: the first process of a test run fills them, the others find them."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def make_once(factory: pytest.TempPathFactory, name: str, write: Callable[[Path], object]) -> Path:
    """Return the folder of this name, after `write` has filled it in one of the processes."""
    base = factory.getbasetemp()  # of a worker of pytest-xdist: a folder in the one of all
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made-once"
    folder, filled = shared / name, shared / f"{name}.filled"
    folder.mkdir(parents=True, exist_ok=True)
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not filled.exists():
            write(folder)
            filled.touch()
    return folder
