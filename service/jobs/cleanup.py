"""Removes jobs with their files: when somebody asks for it, and when their time is over."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from service.jobs.errors import UnknownJob
from service.jobs.job import Job
from service.jobs.job_runner import JobRunner
from service.jobs.job_storage import JobStorage

logger = logging.getLogger(__name__)


def sweep(storage: JobStorage, runner: JobRunner, note_progress: Callable[[], None] = lambda: None) -> None:
    """Remove jobs whose time is over, and files that are no job's.

    Files that cannot be removed are logged, and tried again at another sweep.

    Args:
        storage: where they are.
        runner: knows their journals.
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
        logger.error("files of job %s cannot be removed: %s", job_id, error)  # noqa: TRY400 -- a traceback says no more


def remove(storage: JobStorage, runner: JobRunner, job: Job) -> None:
    """Forget a job that has ended, and remove its files."""
    with suppress(UnknownJob):  # somebody else has just done it
        storage.store.remove(job)
    remove_files(storage, runner, job)


def remove_files(storage: JobStorage, runner: JobRunner, job: Job) -> None:
    """All that is kept of a job beside what it is."""
    runner.journal(job.id).forget()
    storage.blobs.remove(job.id)
