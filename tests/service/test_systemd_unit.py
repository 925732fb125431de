"""systemd accepts the unit, finds little that it exposes, and lets the server stop as its settings say."""

import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import pytest

from service.http.server_protocol import CLOSE_GRACE_S
from service.settings import Settings

UNIT = Path(__file__).parents[2] / "deploy" / "systemd" / "dragoman.service"
PROGRAM = "/opt/dragoman/bin/dragoman"
JOBS_STOP_S = 10
"""Seconds that a stopping server waits for jobs."""
MAX_EXPOSURE_TENTHS = 20


def option(name: str) -> str:
    parser = RawConfigParser(strict=False)  # options may occur twice
    parser.read(UNIT)
    return parser["Service"][name]


@pytest.mark.parametrize(
    "arguments",
    [["verify", "--man=no"], ["security", "--offline=true", f"--threshold={MAX_EXPOSURE_TENTHS}"]],
    ids=["verify", "security"],
)
def test_systemd_finds_no_fault(arguments: list[str], tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text("utf-8").replace(PROGRAM, "/bin/true"), "utf-8")  # it must be installed

    checked = subprocess.run([program, *arguments, str(unit)], capture_output=True, text=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout


def test_systemd_waits_until_a_stopping_server_has_drained() -> None:
    fields = Settings.model_fields
    stop_s = sum(fields[name].default for name in ("drain_s", "stop_timeout_s")) + CLOSE_GRACE_S + JOBS_STOP_S

    assert float(option("TimeoutStopSec")) > stop_s


def test_the_server_may_open_as_many_files_as_connections() -> None:
    assert int(option("LimitNOFILE")) >= Settings.model_fields["max_connections"].default + 100


def test_the_unit_starts_the_command_that_the_package_installs() -> None:
    assert option("ExecStart") == f"{PROGRAM} serve"
