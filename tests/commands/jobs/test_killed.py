"""After SIGKILL at any moment, `--resume` or another worker ends with the bytes of an undisturbed run."""

import random
import shutil
import signal
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import pytest

from service.batch.journal import Journal
from service.batch.pending_entries import ChunkLimits
from service.jobs.job import Job, JobRequest, JobState, NewJob, new_job_id
from service.jobs.job_storage import JobStorage
from tests.commands.jobs.killing import COUNTED_FILE, run_traced
from tests.engine.routing.doubles import TIMEOUT_S, until
from tests.forked import ForkedProcess, run_command, run_double
from tests.jobs import working
from tests.jobs.batch.conftest import Run
from tests.jobs.working import LEASE, open_storage
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


NUM_LINES = 150


@pytest.fixture
def services(any_url: str, tmp_path: Path) -> Iterator[JobStorage]:
    with ExitStack() as opened:
        yield open_storage(any_url, tmp_path / "files", opened, timedelta(0))


def worker(url: str, files: Path, ahead: timedelta = timedelta(0)) -> ForkedProcess:
    """A process that works on jobs. If its clock is ahead enough, the leases of others are over for it."""
    return ForkedProcess(working.main, url, files, ahead)


def add(services: JobStorage, folder: Path, num_lines: int = NUM_LINES) -> Job:
    store = services.store
    job_id = new_job_id(store.clock.now())
    sent = folder / "sent.txt"
    sent.write_text("".join(f"zeile {number}\n" for number in range(num_lines)), encoding="utf8")
    services.blobs.put(f"{job_id}/input", sent)
    job_request = JobRequest("a.txt", "de", "en")
    return store.add(NewJob(job_id, None, job_request, sent.stat().st_size, num_lines, 10 * num_lines))


def begun(services: JobStorage, job: Job) -> int:
    """The number of entries that are kept of a job, once there are some."""
    journal = Journal(services.store.database, job.id)
    until(lambda: journal.num_outcomes() > 0)
    return journal.num_outcomes()


def is_done(services: JobStorage, job: Job) -> bool:
    return services.store.again(job).state is JobState.DONE


def content(services: JobStorage, job: Job) -> bytes:
    kept = services.store.again(job).result
    assert kept is not None
    return b"".join(services.blobs.read(kept.blob, 0, kept.size_bytes))


def stop_between_transactions(process: ForkedProcess, database: Path) -> None:
    """Stop a worker that holds no lock of the database, for which all others would wait."""

    def is_stopped() -> bool:
        process.send_signal(signal.SIGSTOP)
        with closing(sqlite3.connect(database, timeout=0.5, isolation_level=None)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                process.send_signal(signal.SIGCONT)
                return False
            connection.execute("ROLLBACK")
        return True

    until(is_stopped)


def test_the_job_of_a_killed_worker_continues_from_its_last_chunk(
    services: JobStorage, any_url: str, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    job = add(services, tmp_path)
    with worker(any_url, files) as first:
        begun(services, job)
        first.send_signal(signal.SIGKILL)
        first.wait(60)
    assert services.store.again(job).state is JobState.RUNNING
    num_before = begun(services, job)
    assert num_before < NUM_LINES

    with worker(any_url, files, 2 * LEASE):
        until(lambda: is_done(services, job))
    assert content(services, job) == "".join(f"ZEILE {number}\n" for number in range(NUM_LINES)).encode()
    reported = (files / "translated").read_text(encoding="utf8").splitlines()
    # What was under way when it was killed was begun twice, and nothing that was kept.
    assert num_before <= len(reported) - NUM_LINES + num_before < NUM_LINES
    assert len(set(reported)) == NUM_LINES


@pytest.mark.parametrize("any_url", ["sqlite"], indirect=True)
def test_a_worker_that_lost_its_lease_changes_nothing(
    services: JobStorage, any_url: str, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    job = add(services, tmp_path)
    with worker(any_url, files) as first:
        begun(services, job)
        stop_between_transactions(first, Path(any_url.removeprefix("sqlite:///")))
        with worker(any_url, files, 2 * LEASE):
            until(lambda: is_done(services, job))
            whole = content(services, job)
        first.send_signal(signal.SIGCONT)
        next_job = add(services, tmp_path, 1)
        until(
            lambda: is_done(services, next_job)
        )  # by the first worker, so that it is through with the other

    assert is_done(services, job)
    assert content(services, job) == whole


def test_two_workers_share_jobs_without_duplicate_work(
    services: JobStorage, any_url: str, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    jobs = [add(services, tmp_path, 10) for _ in range(8)]
    with worker(any_url, files), worker(any_url, files):
        until(lambda: all(is_done(services, job) for job in jobs))

    expected = "".join(f"ZEILE {number}\n" for number in range(10)).encode()
    assert [content(services, job) for job in jobs] == [expected] * len(jobs)
    assert len((files / "translated").read_text(encoding="utf8").splitlines()) == 10 * len(jobs)
