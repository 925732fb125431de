"""Construction of the job service and of the routes of `/v1/jobs`."""

from collections.abc import Callable

from fastapi import APIRouter

from service.engine import translator_options
from service.glossaries.glossary_service import GlossaryService
from service.http.authentication import Authenticator
from service.http.file_work import FileWork
from service.jobs.job_runner import JobRunner
from service.jobs.job_service import JobService
from service.jobs.job_storage import JobStorage
from service.jobs.routes import JobAuthenticator, job_routes
from service.jobs.worker import JobWorkers
from service.settings import Settings
from service.telemetry.counters import WorkerCounters
from service.translation.translation_service import TranslationService

PATH = "/v1/jobs"
FORM_BYTES = 2**20
"""Maximum size of an upload form without its file, in bytes."""


def open_job_service(
    storage: JobStorage,
    job_service: TranslationService,
    file_work: FileWork,
    settings: Settings,
    counters: WorkerCounters,
) -> JobService:
    """Return the service that all APIs submit files to. Its workers run only within `JobWorkers.working`."""
    database = storage.store.database
    runner = JobRunner(
        job_service.inference.router,
        database,
        job_service.detection,
        settings.job_texts,
        translator_options(settings),
        job_service.cache_sharing,
        file_work.limits,
    )
    workers = JobWorkers(storage, runner, settings.jobs_at_a_time, counters)
    return JobService(storage, workers, runner, file_work)


def jobs_api(
    jobs: JobService,
    authenticator: Authenticator,
    glossaries: GlossaryService,
    settings: Settings,
    is_stopping: Callable[[], bool],
) -> APIRouter:
    """Return the routes of `/v1/jobs`."""
    job_authenticator = JobAuthenticator(jobs, authenticator, glossaries, is_stopping)
    return job_routes(job_authenticator, settings.max_job_bytes, settings.root_path)
