"""The job of a worker that was killed is taken over by another, and comes out as if nothing had happened."""

import signal
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import timedelta
from pathlib import Path

import pytest

from service.batch.journal import Journal
from service.jobs.job import Job, JobRequest, JobState, NewJob, new_job_id
from service.jobs.job_storage import JobStorage
from tests.engine.routing.doubles import until
from tests.forked import ForkedProcess
from tests.jobs import working
from tests.jobs.working import LEASE, open_storage

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
