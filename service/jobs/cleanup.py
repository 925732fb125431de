"""Removal of jobs and their files, on request or when they expire."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from service.jobs.errors import UnknownJob
from service.jobs.job import Job
from service.jobs.job_runner import JobRunner
from service.jobs.job_storage import JobStorage

logger = logging.getLogger(__name__)


def sweep(storage: JobStorage, runner: JobRunner, note_progress: Callable[[], None] = lambda: None) -> None:
    """Remove expired jobs, and files that belong to no job.

    Files that cannot be removed are logged; the next sweep tries again.

    Args:
        storage: the jobs and their files.
        runner: finds their journals.
        note_progress: called for each job.

    Raises:
        StoreError: the database cannot be used.
        OSError: the store of files cannot be listed.
    """
    while over := storage.store.expired():
        for job in over:
            note_progress()
            with _logging_failures(job.id):
                remove(storage, runner, job)
    old = {job_id for job_id in storage.blobs.jobs() if storage.store.is_old(job_id)}
    for job_id in old - storage.store.known(old):
        note_progress()
        with _logging_failures(job_id):
            storage.blobs.remove(job_id)


@contextmanager
def _logging_failures(job_id: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        logger.error("cannot remove the files of job %s: %s", job_id, error)  # noqa: TRY400 -- a traceback adds nothing


def remove(storage: JobStorage, runner: JobRunner, job: Job) -> None:
    """Delete a job that has ended, and its files."""
    with suppress(UnknownJob):  # another process has just removed it
        storage.store.remove(job)
    remove_files(storage, runner, job)


def remove_files(storage: JobStorage, runner: JobRunner, job: Job) -> None:
    """Remove the journal and the files of a job, but not its row."""
    runner.journal(job.id).forget()
    storage.blobs.remove(job.id)
