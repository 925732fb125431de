"""After SIGKILL at any moment, `--resume` ends with the bytes of an undisturbed run."""

import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from service.batch.pending_entries import ChunkLimits
from tests.batch import killing
from tests.batch.conftest import Run
from tests.routing.doubles import until
from tests.service import conftest as service
from tests.service.conftest import TINY_BUNDLE

NUM_KILLS = 100
ENGINE_KILLS = 2
CHUNK_ENTRIES = ChunkLimits().entries
EMPTY_BYTES, ROWS_BYTES = 40_000, 10_000
"""What tables take at most in a journal's write-ahead log, and what a chunk of outcomes adds at least."""
PAIRS_FILE = TINY_BUNDLE.parent / "pairs.tsv"


def size_of(file: Path) -> int:
    """Of one that may not be there yet."""
    return file.stat().st_size if file.exists() else 0


@pytest.mark.timeout(600)
def test_a_job_that_is_killed_a_hundred_times_ends_with_the_same_bytes(
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
    reported = re.fullmatch(r"killed (\d+) times\n", finished.stdout)  # and nothing that went wrong
    assert reported, finished.stdout
    assert int(reported[1]) >= NUM_KILLS


def test_a_killed_job_of_the_engine_ends_with_the_same_bytes(
    run_engine: service.Run, tmp_path: Path, environment: dict[str, str]
) -> None:
    draw = random.Random(5)  # noqa: S311 -- no secret
    sources = [line.split("\t")[0] for line in PAIRS_FILE.read_text().splitlines()]
    lines = [f"{draw.choice(sources)} {number}" for number in range((ENGINE_KILLS + 1) * CHUNK_ENTRIES)]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    job = ["batch", "in.txt", "--model", str(TINY_BUNDLE), "-o"]
    journal = tmp_path / "out.txt.journal-wal"

    ended = list[int]()
    for _ in range(ENGINE_KILLS):
        command = [sys.executable, "-m", "service", *job, "out.txt", "--resume"]
        least_bytes = max(EMPTY_BYTES, size_of(journal)) + ROWS_BYTES
        with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
            until(lambda: size_of(journal) > least_bytes or process.poll() is not None)  # noqa: B023 -- ends here
            process.kill()
        ended.append(process.returncode)
    assert ended == [-signal.SIGKILL] * ENGINE_KILLS
    assert run_engine(*job, "out.txt", "--resume").returncode == 0

    assert run_engine(*job, "whole.txt").returncode == 0
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert len((tmp_path / "out.txt").read_text().splitlines()) == len(lines)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_job_which_then_goes_on(
    run: Run, tmp_path: Path, environment: dict[str, str], double_command: list[str], number: signal.Signals
) -> None:
    lines = [f"slow {number}" for number in range(4)]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    job = ["in.txt", "-o", "out.txt"]

    with subprocess.Popen(
        [*double_command, *job], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    ) as process:
        until(lambda: size_of(tmp_path / "out.txt.journal") > 0 or process.poll() is not None)
        process.send_signal(number)
        _, reported = process.communicate(timeout=60)

    assert process.returncode == 3
    assert "continue with the same command and --resume" in reported
    assert not (tmp_path / "out.txt").exists()
    assert run(*job, "--resume").returncode == 0
    assert (tmp_path / "out.txt").read_text().splitlines() == [line.upper() for line in lines]
