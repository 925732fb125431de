"""After SIGKILL at any moment, `--resume` ends with the bytes of an undisturbed run."""

import random
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from tests.batch import killing
from tests.service.conftest import TINY_BUNDLE

NUM_KILLS = 200
ENGINE_KILLS = 3
PAIRS_FILE = TINY_BUNDLE.parent / "pairs.tsv"


@pytest.mark.timeout(600)
def test_a_job_that_is_killed_hundreds_of_times_ends_with_the_same_bytes(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "killed"
    folder.mkdir()

    finished = subprocess.run(
        [sys.executable, killing.__file__, "1", str(folder), str(NUM_KILLS)],
        capture_output=True,
        check=False,
        env=environment,
        text=True,
        timeout=590,
    )

    assert finished.stderr == ""
    told = re.fullmatch(r"killed (\d+) times\n", finished.stdout)  # and nothing that went wrong
    assert told, finished.stdout
    assert int(told[1]) >= NUM_KILLS


def test_a_killed_job_of_the_engine_ends_with_the_same_bytes(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    draw = random.Random(5)  # noqa: S311 -- no secret
    sources = [line.split("\t")[0] for line in PAIRS_FILE.read_text().splitlines()]
    lines = [f"{draw.choice(sources)} {number}" for number in range(500)]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))

    def run(*arguments: str, timeout_s: float = 200.0) -> int:
        """Its exit status; raises when the time is over, after it was killed with SIGKILL."""
        command = [sys.executable, "-m", "service", "batch", "in.txt", "--model", str(TINY_BUNDLE)]
        finished = subprocess.run(
            [*command, *arguments], check=False, cwd=tmp_path, env=environment, timeout=timeout_s
        )
        return finished.returncode

    began_s = time.monotonic()
    assert run("-o", "whole.txt") == 0
    taken_s = time.monotonic() - began_s

    for _ in range(ENGINE_KILLS):
        with suppress(subprocess.TimeoutExpired):
            run("-o", "out.txt", "--resume", timeout_s=draw.uniform(0.3, 0.8) * taken_s)
    assert run("-o", "out.txt", "--resume") == 0

    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert len((tmp_path / "out.txt").read_text().splitlines()) == len(lines)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_job_which_then_goes_on(
    tmp_path: Path, environment: dict[str, str], double_command: list[str], number: signal.Signals
) -> None:
    lines = [f"slow {number}" for number in range(4)]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    command = [*double_command, "in.txt", "-o", "out.txt"]

    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        journal = tmp_path / "out.txt.journal"
        while not journal.exists() or journal.stat().st_size == 0:
            assert process.poll() is None
            time.sleep(0.02)
        process.send_signal(number)
        _, told = process.communicate(timeout=60)

    assert process.returncode == 3
    assert "continue with the same command and --resume" in told
    assert not (tmp_path / "out.txt").exists()
    subprocess.run([*command, "--resume"], check=True, cwd=tmp_path, env=environment, timeout=60)
    assert (tmp_path / "out.txt").read_text().splitlines() == [line.upper() for line in lines]
