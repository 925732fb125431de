"""Processes forked from one that has imported the service: that takes longer than most tests."""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path
from typing import Self

import pytest

from dragoman import Translator
from service.cli import app as cli
from tests.engine.routing.doubles import TIMEOUT_S
from tests.paths import ROOT
from tests.service.doubles import open_double

PRELOADED = [
    "service.server.server",
    "service.cli.serve",
    "pydantic.v1",
    "tests.commands.jobs.killing",
    "tests.jobs.working",
    "tests.service.doubles",
]


class ForkedProcess:
    """Runs a function of a module in a process of its own; killed when the block ends.

    Its methods are those of `subprocess.Popen`.
    """

    def __init__(self, run: Callable[..., None], *arguments: object) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        with pytest.MonkeyPatch.context() as patch:  # for the process that all are forked from
            patch.setenv("PYTHONPATH", str(ROOT))
            forkserver.ensure_running()
        self._process = context.Process(target=run, args=arguments, daemon=True)
        self._process.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        self._process.join()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def poll(self) -> int | None:
        """Its exit status, once it has ended; negative if by a signal."""
        return self._process.exitcode

    def wait(self, timeout_s: float) -> int:
        self._process.join(timeout_s)
        status = self.poll()
        assert status is not None, f"process {self.pid} runs still after {timeout_s} s"
        return status


def run_command(arguments: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> None:
    """Be the `dragoman` command, in a folder, with this environment and a file for its output."""
    with log.open("ab") as written:
        os.dup2(written.fileno(), sys.stdout.fileno())
        os.dup2(written.fileno(), sys.stderr.fileno())
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.argv = ["dragoman", *arguments]
    cli.main()


def run_double(arguments: Sequence[str], environment: Mapping[str, str], folder: Path, log: Path) -> None:
    """Be the command with the double in the engine's place."""
    Translator.open = open_double  # type: ignore[assignment,method-assign]
    run_command(arguments, environment, folder, log)


def run_to_end(
    run: Callable[..., None], arguments: Sequence[str], environment: Mapping[str, str], folder: Path
) -> tuple[int, str]:
    """Run `run_command` or `run_double`; the exit status and all output."""
    log = folder / "output"
    with ForkedProcess(run, arguments, environment, folder, log) as process:
        return process.wait(TIMEOUT_S), log.read_text(encoding="utf8")
