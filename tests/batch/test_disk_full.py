"""A file that cannot grow stops a job, which goes on when it can."""

import resource
from pathlib import Path

import pytest

from tests.batch.conftest import Run


@pytest.mark.parametrize(
    ("lines", "limit_bytes", "problem"),
    [
        ([f"satz {number}" for number in range(500)], 60_000, "the journal"),
        (["immer derselbe satz"] * 4000, 60_000, "out.txt could not be written"),
    ],
    ids=["the journal", "the output"],
)
def test_a_job_stopped_by_a_full_disk_can_be_resumed(
    tmp_path: Path, run: Run, run_apart: Run, lines: list[str], limit_bytes: int, problem: str
) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))

    stopped = run_apart("in.txt", "-o", "out.txt", preexec=limit)

    assert (stopped.returncode, stopped.stdout) == (3, "")
    assert problem in stopped.stderr
    assert "continue with the same command and --resume" in stopped.stderr
    assert not (tmp_path / "out.txt").exists()
    assert not (tmp_path / "out.txt.partial").exists()
    assert run("in.txt", "-o", "out.txt", "--resume").returncode == 0
    assert (tmp_path / "out.txt").read_text().splitlines() == [line.upper() for line in lines]
