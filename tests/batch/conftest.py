"""The `dragoman` command, with a double for the engine or with a tiny one."""

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.service import conftest as service
from tests.service.conftest import DOUBLE_COMMAND, environment, models_dir, run_engine
from tests.service.conftest import run as run_double

__all__ = ["environment", "models_dir", "run_double", "run_engine"]

TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command came to."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Finished]


@pytest.fixture
def double_command() -> list[str]:
    return [sys.executable, str(DOUBLE_COMMAND), "batch"]


@pytest.fixture
def run_apart(double_command: list[str], environment: dict[str, str], tmp_path: Path) -> Run:
    """Run `dragoman batch` with the double in a process of its own."""

    def run_to_end(*arguments: str, preexec: Callable[[], None] | None = None) -> Finished:
        finished = subprocess.run(
            [*double_command, *arguments],
            capture_output=True,
            check=False,
            cwd=tmp_path,
            env=environment,
            text=True,
            timeout=TIMEOUT_S,
            preexec_fn=preexec,
        )
        return Finished(finished.returncode, finished.stdout, finished.stderr)

    return run_to_end


@pytest.fixture
def run(run_double: service.Run) -> Run:
    """The same in this process: `run("in.txt", "-o", "out.txt")`."""

    def run_to_end(*arguments: str) -> Finished:
        finished = run_double("batch", *arguments)
        return Finished(finished.returncode, finished.stdout.decode(), finished.stderr.decode())

    return run_to_end
