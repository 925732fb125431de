"""Commands of the export, run in the process of the tests: importing PyTorch again would take seconds."""

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from export import checkpoint_import
from export.original import Original
from tests.imports.export.rejections import ANY
from tests.paths import TINY

CHECKPOINT = TINY / "checkpoint"


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


def tiny_original() -> Original:
    """The tiny checkpoint as it is exported: two decoder layers of five heads."""
    return checkpoint_import.load(CHECKPOINT, ANY)


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of the tiny bundle in int8."""
    return Path(shutil.copytree(TINY / "bundle-int8", tmp_path / "tiny"))
