"""The `dragoman batch` command, with a double for the engine or with a tiny one."""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.service import conftest as service
from tests.service.conftest import environment, models_dir, run_engine
from tests.service.conftest import run as run_double

__all__ = ["environment", "models_dir", "run_double", "run_engine"]


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command came to."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Finished]


@pytest.fixture
def run(run_double: service.Run) -> Run:
    """Run the command in this process: `run("in.txt", "-o", "out.txt")`."""

    def run_to_end(*arguments: str) -> Finished:
        finished = run_double("batch", *arguments)
        return Finished(finished.returncode, finished.stdout.decode(), finished.stderr.decode())

    return run_to_end
