"""The `dragoman` command, with a double for the engine or with a tiny one."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from dragoman import Translator
from service.cli import app as cli
from tests.routing.doubles import write_bundle
from tests.service.conftest import DOUBLE_COMMAND, PROJECT, forget_settings
from tests.service.doubles import open_double

TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command came to."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Finished]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """For commands with the double, which translates from de to en into upper case."""
    write_bundle(tmp_path / "models" / "tiny", "tiny-de-en")
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")}
    return {
        **kept,
        "PYTHONPATH": str(PROJECT),
        "DRAGOMAN_MODELS_DIR": str(tmp_path / "models"),
        "DRAGOMAN_MODEL": "tiny",
    }


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
def run(
    environment: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """The same in this process: `run("in.txt", "-o", "out.txt")`."""
    forget_settings(monkeypatch)
    for name in ("DRAGOMAN_MODELS_DIR", "DRAGOMAN_MODEL"):
        monkeypatch.setenv(name, environment[name])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Translator, "open", open_double)

    def run_to_end(*arguments: str) -> Finished:
        monkeypatch.setattr(sys, "argv", ["dragoman", "batch", *arguments])
        status = 0
        try:
            cli.main()
        except SystemExit as end:
            status = int(end.code or 0)
        told = capsys.readouterr()
        return Finished(status, told.out, told.err)

    return run_to_end
