"""Jobs as the application takes them in."""

from collections.abc import Callable

from fastapi import APIRouter

from service.desk.desk import Desk
from service.file_limits import client_file_limits
from service.front.door import Door
from service.jobs.desk import JobDesk
from service.jobs.premises import JobPremises
from service.jobs.routes import JobDoor, job_routes
from service.jobs.running import Runner
from service.jobs.worker import Workers
from service.observing.worker_tally import WorkerTally
from service.settings import Settings

PATH = "/v1/jobs"
FORM_BYTES = 2**20
"""What a form may have beside its file."""


def open_job_desk(premises: JobPremises, desk: Desk, settings: Settings, tally: WorkerTally) -> JobDesk:
    """What all APIs hand their files in at. Its workers work while somebody has them do so.

    Raises:
        SettingsError: the limits of files cannot be enforced here.
    """
    database = premises.store.database
    runner = Runner(
        desk.inference.router,
        database,
        desk.detection,
        settings.job_texts,
        settings.providers,
        desk.cache_sharing,
        client_file_limits(settings),
    )
    return JobDesk(premises, Workers(premises, runner, settings.jobs_at_a_time, tally), runner)


def jobs_api(jobs: JobDesk, door: Door, settings: Settings, is_stopping: Callable[[], bool]) -> APIRouter:
    """The routes of `/v1/jobs`."""
    return job_routes(JobDoor(jobs, door, is_stopping), settings.max_job_bytes)
