"""Jobs beside other processes: killed ones, those on the same output, and one whose disk is full."""

import gzip
import multiprocessing
import resource
import signal
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from service.batch.errors import OutputBusy
from service.batch.job_directory import JobDirectory
from service.cluster.run import run_on_ray
from service.jobs.job_storage import ScratchFolder
from tests.engine.routing.doubles import TIMEOUT_S, until
from tests.forked import ForkedProcess, run_double, run_to_end
from tests.jobs import working
from tests.jobs.batch.conftest import Run
from tests.jobs.cluster.conftest import Place
from tests.jobs.cluster.doubles import DoubleEngine
from tests.jobs.cluster.killed import lines as made_lines
from tests.jobs.cluster.killed import run_slow_job
from tests.jobs.conftest import ServeJobs, ended, new_memory, post, problem_of, run_job, send
from tests.service.conftest import ALL_APIS


def test_the_next_start_removes_temporary_folders_of_killed_processes_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "another program's").mkdir()
    with ForkedProcess(working.hold_folder, tmp_path) as other, ExitStack() as opened:
        until(lambda: [*tmp_path.glob("*/file")] != [])
        [running] = tmp_path.glob("dragoman-scratch-*")
        own = ScratchFolder(opened).folder
        (own / "file").write_text("x")
        other.send_signal(signal.SIGKILL)
        other.wait(60)
        assert (running / "file").exists()

        ScratchFolder(opened)
        assert not running.exists()
        assert (own / "file").exists()
    assert not own.exists()
    assert (tmp_path / "another program's").exists()


@pytest.mark.usefixtures("no_ray")
def test_a_job_can_be_resumed_after_its_driver_was_killed(place: Place) -> None:
    num_lines = 240
    with ForkedProcess(run_slow_job, place.folder, num_lines) as leading:
        until(lambda: _has_rows(place.folder / "job.journal") or leading.poll() is not None)
        leading.kill()
        assert leading.wait(TIMEOUT_S) == -signal.SIGKILL, "it ended before it was killed"

    report = run_on_ray(
        place.cluster_job(place.job(made_lines(num_lines)), DoubleEngine(), 100), place.journal()
    )

    assert place.target.read_text() == "".join(f"{line.upper()}\n" for line in made_lines(num_lines))
    assert 0 < report.num_translated < num_lines


def _has_rows(journal: Path) -> bool:
    """Its write-ahead log grows with every chunk; the tables alone take less."""
    log = journal.with_name(journal.name + "-wal")
    return log.exists() and log.stat().st_size > 40_000


def test_a_second_run_on_the_same_output_is_rejected_at_once(tmp_path: Path) -> None:
    workplace = JobDirectory.of(str(tmp_path / "out.txt"))
    with workplace.locked():
        with multiprocessing.get_context("spawn").Pool(1) as others:
            assert others.apply(is_rejected, [str(workplace.output)])
        with pytest.raises(OutputBusy, match=r"another run is writing to .*out\.txt"), workplace.locked():
            pass

    assert not is_rejected(str(workplace.output))


def is_rejected(output: str) -> bool:
    try:
        with JobDirectory.of(output).locked():
            return False
    except OutputBusy:
        return True


def run_limited(limit_bytes: int, *arguments: Any) -> None:
    """Be the command where no file may have more bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, limit_bytes))
    run_double(*arguments)


@pytest.mark.parametrize(
    ("lines", "limit_bytes", "problem"),
    [
        ([f"satz {number}" for number in range(500)], 60_000, "the journal"),
        (["immer derselbe satz"] * 4000, 60_000, "out.txt could not be written"),
    ],
    ids=["the journal", "the output"],
)
def test_a_job_stopped_by_a_full_disk_can_be_resumed(
    tmp_path: Path, run: Run, environment: dict[str, str], lines: list[str], limit_bytes: int, problem: str
) -> None:
    (tmp_path / "in.txt").write_text("".join(f"{line}\n" for line in lines))
    command = ["batch", "in.txt", "-o", "out.txt"]

    status, output = run_to_end(partial(run_limited, limit_bytes), command, environment, tmp_path)

    assert status == 3
    assert problem in output
    assert "continue with the same command and --resume" in output
    assert not (tmp_path / "out.txt").exists()
    assert not (tmp_path / "out.txt.partial").exists()
    assert run("in.txt", "-o", "out.txt", "--resume").returncode == 0
    assert (tmp_path / "out.txt").read_text().splitlines() == [line.upper() for line in lines]


MEMORY_BYTES = 2**27
MESSAGE = "exceeds the limit of 128 MiB of memory per file; split it into smaller files"
LARGE = "a.po", b'msgid "eins"\nmsgstr ""\n\n' + b"# x\n" * 1_500_000


def test_a_job_or_document_over_the_file_limit_is_rejected_and_the_next_one_succeeds(
    serve_double: ServeJobs,
) -> None:
    client = serve_double(
        apis=ALL_APIS, file_isolation="on", file_memory_bytes=MEMORY_BYTES, max_document_bytes=2**30
    )
    native = {"source": "de", "target": "en"}
    deepl = {"source_lang": "DE", "target_lang": "EN"}
    for path, fields, status in (
        ("/v1/jobs", native, 422),
        ("/translate_file", native, 400),
        ("/v2/document", deepl, 400),
    ):
        refused = client.post(path, files={"file": LARGE}, data=fields)
        assert (refused.status_code, MESSAGE in refused.text) == (status, True)

    assert run_job(client, b"eins\n")["state"] == "done"


def test_jobs_that_cannot_be_done_fail_with_their_problems_and_the_worker_continues(
    serve_double: ServeJobs, tmp_path: Path
) -> None:
    receiving = serve_double(jobs_at_a_time=0)
    memory = new_memory(receiving)
    large = send(receiving, LARGE[1], LARGE[0])
    without_file, without_memory = send(receiving, b"eins\n"), send(receiving, b"eins\n", memory=memory)
    small = send(receiving, b"eins\n")
    (tmp_path / "dragoman-jobs" / without_file["id"] / "input").unlink()
    receiving.delete(f"/v1/memories/{memory}")

    working = serve_double(file_isolation="on", file_memory_bytes=MEMORY_BYTES)

    for job, problem in (
        (large, MESSAGE),
        (without_file, "its file no longer exists"),
        (without_memory, f"memory: memory '{memory}' not found"),
    ):
        failed = ended(working, job["id"])
        assert (failed["state"], problem in failed["problem"]) == ("failed", True)
    assert ended(working, small["id"])["state"] == "done"


def test_a_compressed_file_has_the_limit_of_a_plain_one(serve_double: ServeJobs) -> None:
    client = serve_double(file_isolation="on", max_job_bytes=2**20, max_document_bytes=1000)
    content = gzip.compress(b"ein haus\n" * 2**17)

    assert "it unpacks to more than 1,048,576 bytes" in problem_of(post(client, content, "a.txt.gz"))
