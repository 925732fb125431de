"""Commands of the export, run in the process of the tests: importing PyTorch again would take seconds."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True, slots=True)
class CommandResult:
    """Exit status of a command, and what it wrote to standard error and output."""

    status: int
    errors: str
    output: str


RunMain = Callable[..., CommandResult]


@pytest.fixture
def run_main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunMain:
    """Run the `main` of a command with arguments."""

    def run(main: Callable[[], int], *arguments: str | Path) -> CommandResult:
        monkeypatch.setattr(sys, "argv", ["command", *map(str, arguments)])
        status, written = main(), capsys.readouterr()
        return CommandResult(status, written.err, written.out)

    return run
