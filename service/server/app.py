"""The HTTP application: routes, middleware and lifespan."""

import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, nullcontext

import anyio
from fastapi import FastAPI, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import Response

from dragoman.routing.router import Router
from service.accounts.accounts import Accounts
from service.accounts.database import Database
from service.accounts.rates import RateLimiter
from service.api.deepl.api import deepl_api
from service.api.google.api import google_api
from service.api.languages import english_name
from service.api.libretranslate.api import libretranslate_api
from service.api.native.api import native_api
from service.api.native.health import health_routes
from service.api.openai.api import openai_api
from service.api.readiness import Readiness
from service.api.services import ApiDefinition, Services
from service.glossaries.glossary_service import GlossaryService
from service.glossaries.store import GlossaryLimits, GlossaryStore
from service.http.authentication import Authenticator
from service.http.errors import ErrorForms, SafeJSONResponse, UnexpectedErrors, install_error_handlers
from service.http.limits import BodyLimitMiddleware, BodyLimits
from service.http.middleware import HeadRequests, SlashRemover
from service.http.request_scope import RequestScopes
from service.jobs.documents import DocumentService
from service.jobs.job_service import JobService, open_job_service
from service.jobs.job_storage import JobStorage, ScratchFolder, open_job_storage
from service.memories.memory_service import MemoryService
from service.memories.store import MemoryStore
from service.models.engine import client_file_limits
from service.models.watcher import ModelWatcher
from service.page.routes import page_options, page_routes
from service.server.telemetry import Telemetry, keep_writing, metrics_routes
from service.settings.groups import ApiSettings, split_names
from service.settings.settings import Settings
from service.translation.cache_partitions import CachePartitioning
from service.translation.inference import Inference
from service.translation.memory import keep_removing_leftovers
from service.translation.source_language import DetectionMode
from service.translation.translation_service import TranslationService
from service.versions import installed_version
from service.work.file_work import FileWork
from service.work.threads import run_in_thread


def enabled_apis(services: Services) -> list[ApiDefinition]:
    """Return the APIs that the settings enable."""
    names = split_names(services.settings.apis)
    return [KNOWN[name](services) for name in names if name in KNOWN]


KNOWN: Mapping[str, Callable[[Services], ApiDefinition]] = {
    "native": native_api,
    "libretranslate": libretranslate_api,
    "deepl": deepl_api,
    "google": google_api,
    "openai": openai_api,
}


DESCRIPTION = """Text in, text out. Every error has one form: a type for programs, a message for people,
and the fields at fault. The same text gives the same translation, whatever else the server is doing."""

logger = logging.getLogger(__name__)


def create_app(
    router: Router, settings: Settings, preloaded: Sequence[str], telemetry: Telemetry | None = None
) -> FastAPI:
    """Return an application that serves all pairs of a router and reports to `telemetry`.

    It responds at once. `/readyz` and translation requests respond with 503 until each of the `preloaded`
    bundles, given by name, has translated a warm-up sentence.

    Raises:
        StoreError: the database of accounts cannot be used.
        SettingsError: there is no folder for jobs.
    """
    telemetry = telemetry or Telemetry()
    rates = RateLimiter.open(settings.rate_storage_url, settings.rate_limit)
    accounts = Accounts.open(settings.database_url, requires_key=settings.requires_key)
    inference = Inference(router, settings.request_timeout_s, preloaded)
    translation_service = TranslationService(
        inference,
        accounts,
        settings,
        DetectionMode(settings.detection),
        CachePartitioning(settings.segment_cache),
    )
    watcher = ModelWatcher(router)
    metrics = telemetry.metrics(inference, settings.memory_budget_bytes)

    resources = ExitStack()
    resources.callback(accounts.close)
    try:
        kept = open_job_storage(settings, accounts, resources)
        glossaries = _open_glossaries(settings, accounts, kept, resources)
    except BaseException:
        resources.close()
        raise
    memories = MemoryService(MemoryStore(glossaries.store.database))
    file_work = FileWork(client_file_limits(settings))
    jobs = (
        None
        if kept is None
        else open_job_service(kept, translation_service, file_work, settings, telemetry.workers)
    )

    @asynccontextmanager
    async def run_workers(_app: FastAPI) -> AsyncIterator[None]:
        workers_running = nullcontext() if jobs is None else jobs.workers.working()
        with resources:
            async with anyio.create_task_group() as tasks:
                if settings.reuse_port:
                    # Other processes respond meanwhile: this one listens only after its startup.
                    await _warm_up(translation_service, settings)
                else:
                    tasks.start_soon(_warm_up, translation_service, settings)
                tasks.start_soon(keep_removing_leftovers, memories)
                tasks.start_soon(keep_writing, metrics)
                if settings.watch_s:
                    tasks.start_soon(watcher.scan_every, settings.watch_s)
                async with workers_running:
                    yield
                tasks.cancel_scope.cancel()
        await rates.close()
        await run_in_thread(telemetry.tracing.close)

    requires_key = settings.discovery_access == "key"
    authenticator = Authenticator(accounts, rates)
    readiness = Readiness(inference, telemetry.workers)
    app = _create_fastapi(run_workers, settings.root_path, has_openapi=not requires_key)
    if requires_key:
        _add_document(app, authenticator)
    services = Services(
        translation_service,
        authenticator,
        watcher,
        settings,
        glossaries,
        memories,
        file_work,
        jobs,
        _open_documents(settings, jobs),
        lambda: readiness.is_draining,
    )
    apis = enabled_apis(services)
    _add_middleware(app, settings, apis, telemetry)
    for api in apis:
        app.include_router(api.routes)
    app.state.readiness = readiness
    app.include_router(health_routes(app.state.readiness))
    app.include_router(metrics_routes(metrics, authenticator, settings))
    app.include_router(page_routes(page_options(settings, has_jobs=jobs is not None)))
    return app


def _add_document(app: FastAPI, authenticator: Authenticator) -> None:
    """Add a route like FastAPI's own `/openapi.json`, for callers with any key."""

    @app.get("/openapi.json", include_in_schema=False)
    async def document(connection: Request) -> Response:
        await authenticator.authenticate_key(connection, scope=None)
        return SafeJSONResponse(app.openapi())


def _open_glossaries(
    settings: ApiSettings, accounts: Accounts, kept: JobStorage | None, resources: ExitStack
) -> GlossaryService:
    """Open the glossaries: in the database of accounts, else in that of jobs, else in a temporary one."""
    database = accounts.database or (None if kept is None else kept.store.database)
    if database is None:
        folder = ScratchFolder(resources).folder
        database = Database.open(f"sqlite:///{folder}/glossaries.db")
        resources.callback(database.close)
    limits = GlossaryLimits(
        settings.max_glossaries_of_key, settings.max_glossary_entries, settings.max_glossaries_bytes_of_key
    )
    return GlossaryService(GlossaryStore(database, limits))


def _open_documents(settings: ApiSettings, jobs: JobService | None) -> DocumentService | None:
    """Open the documents of DeepL's and LibreTranslate's clients; they are jobs, and need these enabled."""
    if settings.documents == "off":
        return None
    if jobs is None:
        logger.warning(
            "document translation is disabled in the DeepL and LibreTranslate APIs because jobs are disabled"
        )
        return None
    return DocumentService(jobs)


async def _warm_up(translation_service: TranslationService, settings: ApiSettings) -> None:
    """Load what the first requests would wait for."""
    if split_names(settings.apis) != ("native",):
        # Python loads the names of all languages at once, and holds the interpreter for 0.15 s.
        await run_in_thread(lambda: english_name("en"))
    await translation_service.warm_up()


def _create_fastapi(
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]], root_path: str, *, has_openapi: bool
) -> FastAPI:
    return FastAPI(
        title="Dragoman",
        summary="A self-hosted translation server",
        description=DESCRIPTION,
        version=installed_version("dragoman"),
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        default_response_class=SafeJSONResponse,
        redirect_slashes=False,
        openapi_url="/openapi.json" if has_openapi else None,
        servers=[{"url": root_path}] if root_path else None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )


def _add_middleware(
    app: FastAPI, settings: Settings, apis: Sequence[ApiDefinition], telemetry: Telemetry
) -> None:
    """Add error handlers and middleware; the middleware added last sees a request first."""
    others = tuple(api.errors for api in apis if api.errors is not None)
    forms = ErrorForms(others, telemetry.requests.rejections.add)
    install_error_handlers(app, forms)
    limits = BodyLimits(
        settings,
        frozenset[str]().union(*(api.document_paths for api in apis)),
        {path: most for api in apis for path, most in api.streamed_paths.items()},
    )
    app.add_middleware(
        RequestScopes, forms=forms, timeout_s=settings.request_timeout_s, is_untimed=limits.has_files
    )
    app.add_middleware(HeadRequests)
    app.add_middleware(BodyLimitMiddleware, limits=limits, forms=forms)
    app.add_middleware(UnexpectedErrors, forms=forms)
    if origins := split_names(settings.cors_origins):
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key", "X-Goog-Api-Key"],
            expose_headers=["X-Request-ID"],
        )
    app.add_middleware(SlashRemover)
    telemetry.surround(app, settings)
