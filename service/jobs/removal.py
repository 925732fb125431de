"""Removes jobs with their files: when somebody asks for it, and when their time is over."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from service.jobs.errors import UnknownJob
from service.jobs.job import Job
from service.jobs.premises import JobPremises
from service.jobs.running import Runner

logger = logging.getLogger(__name__)


def sweep(premises: JobPremises, runner: Runner, note_progress: Callable[[], None] = lambda: None) -> None:
    """Remove jobs whose time is over, and files that are no job's.

    Files that cannot be removed are logged, and tried again at another sweep.

    Args:
        premises: where they are.
        runner: knows their journals.
        note_progress: called for each job.

    Raises:
        StoreError: the database cannot be used.
        OSError: the store of files cannot be listed.
    """
    while over := premises.store.expired():
        for job in over:
            note_progress()
            with _logging_failures(job.id):
                remove(premises, runner, job)
    old = {job_id for job_id in premises.blobs.jobs() if premises.store.is_old(job_id)}
    for job_id in old - premises.store.known(old):
        note_progress()
        with _logging_failures(job_id):
            premises.blobs.remove(job_id)


@contextmanager
def _logging_failures(job_id: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        logger.error("files of job %s cannot be removed: %s", job_id, error)  # noqa: TRY400 -- a traceback says no more


def remove(premises: JobPremises, runner: Runner, job: Job) -> None:
    """Forget a job that has ended, and remove its files."""
    with suppress(UnknownJob):  # somebody else has just done it
        premises.store.remove(job)
    remove_files(premises, runner, job)


def remove_files(premises: JobPremises, runner: Runner, job: Job) -> None:
    """All that is kept of a job beside what it is."""
    runner.journal(job.id).forget()
    premises.blobs.remove(job.id)
