"""After SIGKILL at any moment, `--resume` ends with the bytes of an undisturbed run."""

import random
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from service.batch.pending_entries import ChunkLimits
from tests.commands.jobs.killing import COUNTED_FILE, run_traced
from tests.engine.routing.doubles import TIMEOUT_S, until
from tests.forked import ForkedProcess, run_command, run_double
from tests.jobs.batch.conftest import Run
from tests.service import conftest as service
from tests.service.conftest import TINY_BUNDLE

NUM_KILLS = 100
INCOMPLETE = 1
"""Exit status: "unusable" cannot be translated."""
ENGINE_KILLS = 2
CHUNK_ENTRIES = ChunkLimits().entries
EMPTY_BYTES, ROWS_BYTES = 40_000, 10_000
"""What tables take at most in a journal's write-ahead log, and what a chunk of outcomes adds at least."""
PAIRS_FILE = TINY_BUNDLE.parent / "pairs.tsv"


def size_of(file: Path) -> int:
    """Of one that may not be there yet."""
    return file.stat().st_size if file.exists() else 0


def prepare(folder: Path, lines: Sequence[str]) -> Path:
    folder.mkdir()
    (folder / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    return folder


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.timeout(600)
def test_a_job_that_is_killed_a_hundred_times_ends_with_the_same_bytes(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    """Half of the kills are before some line of the job's code, drawn from all that an undisturbed run comes
    by, so that no part is left out, however short; the others are at any moment, be they in whatever call.
    """
    draw = random.Random(1)  # noqa: S311 -- no secret
    lines = [f"satz {draw.randrange(60)}" for _ in range(120)] + ["unusable", "ende"]

    def run(folder: Path, *arguments: str, fatal_line: int | None = None, after_s: float = -1.0) -> int:
        command = ["batch", "in.txt", "-o", "out.txt", *arguments]
        log = tmp_path / "log"
        with ForkedProcess(run_traced, command, environment, folder, log, fatal_line) as process:
            if after_s >= 0:
                time.sleep(after_s)
                process.kill()
            return process.wait(TIMEOUT_S)

    whole = prepare(tmp_path / "whole", lines)
    assert run(whole, fatal_line=0) == INCOMPLETE
    num_lines = int((tmp_path / COUNTED_FILE).read_text())
    began_s = time.monotonic()
    assert run(whole, "--force") == INCOMPLETE
    taken_s = time.monotonic() - began_s
    wanted = files_of(whole)
    translated = [line if line == "unusable" else line.upper() for line in lines]
    assert wanted["out.txt"].decode().splitlines() == translated

    num_killed = 0
    while num_killed < NUM_KILLS:  # one file through runs until one comes to its end, and again
        killed = prepare(tmp_path / "killed", lines)
        arguments, status = list[str](), -signal.SIGKILL
        while status == -signal.SIGKILL:
            fatal_line, after_s = draw.choice(
                [(draw.randrange(1, num_lines), -1.0), (None, draw.uniform(0.0, taken_s))]
            )
            status = run(killed, *arguments, fatal_line=fatal_line, after_s=after_s)
            assert files_of(killed).get("out.txt", wanted["out.txt"]) == wanted["out.txt"]
            num_killed += status == -signal.SIGKILL
            arguments = ["--resume"]
        assert (status, files_of(killed)) == (INCOMPLETE, wanted)
        shutil.rmtree(killed)


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
        command = [*job, "out.txt", "--resume"]
        least_bytes = max(EMPTY_BYTES, size_of(journal)) + ROWS_BYTES
        with ForkedProcess(run_command, command, environment, tmp_path, tmp_path / "log") as process:
            until(lambda: size_of(journal) > least_bytes or process.poll() is not None)  # noqa: B023 -- ends here
            process.kill()
            ended.append(process.wait(TIMEOUT_S))
    assert ended == [-signal.SIGKILL] * ENGINE_KILLS
    assert run_engine(*job, "out.txt", "--resume").returncode == 0

    assert run_engine(*job, "whole.txt").returncode == 0
    assert (tmp_path / "out.txt").read_bytes() == (tmp_path / "whole.txt").read_bytes()
    assert len((tmp_path / "out.txt").read_text().splitlines()) == len(lines)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_job_which_then_goes_on(
    run: Run, tmp_path: Path, environment: dict[str, str], number: signal.Signals
) -> None:
    lines = [f"slow {number}" for number in range(4)]
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    job, log = ["in.txt", "-o", "out.txt"], tmp_path / "log"

    with ForkedProcess(run_double, ["batch", *job], environment, tmp_path, log) as process:
        until(lambda: size_of(tmp_path / "out.txt.journal") > 0 or process.poll() is not None)
        process.send_signal(number)
        assert process.wait(TIMEOUT_S) == 3

    assert "continue with the same command and --resume" in log.read_text()
    assert not (tmp_path / "out.txt").exists()
    assert run(*job, "--resume").returncode == 0
    assert (tmp_path / "out.txt").read_text().splitlines() == [line.upper() for line in lines]
