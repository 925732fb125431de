"""Jobs as the application takes them in."""

from fastapi import APIRouter

from service.desk.desk import Desk
from service.front.door import Door
from service.jobs.premises import JobPremises
from service.jobs.routes import JobDesk, job_routes
from service.jobs.running import Runner
from service.jobs.worker import Workers
from service.settings import Settings

PATH = "/v1/jobs"
FORM_BYTES = 2**20
"""What a form may have beside its file."""


def jobs_api(premises: JobPremises, desk: Desk, door: Door, settings: Settings) -> APIRouter:
    """Routes, and work while the application lives."""
    database = premises.store.database
    runner = Runner(desk.inference.router, database, desk.detection, settings.job_texts, settings.providers)
    workers = Workers(premises, runner, settings.jobs_at_a_time)
    routes = APIRouter(lifespan=lambda _app: workers.working())
    routes.include_router(job_routes(JobDesk(premises, workers, runner, door), settings.max_job_bytes))
    return routes
