"""The HTTP application: what serves, and what surrounds it."""

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, nullcontext

import anyio
from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware

from dragoman.routing.router import Router
from service.accounts.accounts import Accounts
from service.accounts.rates import Rates
from service.apis import offered_apis
from service.desk.cache import CacheSharing
from service.desk.desk import Desk
from service.desk.inference import Inference
from service.desk.sources import Detection
from service.front.discovery import document_routes
from service.front.door import KEY_HEADER, Door
from service.front.errors import SafeJSONResponse, UnexpectedErrors, install_error_handlers
from service.front.limits import BodyLimit, BodyLimits, TextLimits
from service.front.readiness import Readiness
from service.front.threads import beside
from service.front.uploads import UploadLimits
from service.jobs.api import open_job_desk
from service.jobs.desk import JobDesk
from service.jobs.documents import Documents
from service.jobs.premises import open_jobs
from service.native.health import health_routes
from service.observing.observer import Observer, ObservingOptions
from service.observing.requests import LineOptions
from service.premises import Api, Premises
from service.settings import Settings, split_names
from service.versions import installed_version
from service.watching import Watcher

DESCRIPTION = """Text in, text out. Every error has one form: a type for programs, a message for people,
and the fields at fault. The same text gives the same translation, whatever else the server is doing."""

logger = logging.getLogger(__name__)


def create_app(
    router: Router, settings: Settings, preloaded: Sequence[str], observer: Observer | None = None
) -> FastAPI:
    """An application that serves all pairs of a router; what it does is told to `observer`.

    It answers at once; `/readyz` and what translates do so with 503 until each of the `preloaded` bundles,
    given by their names, has translated a warm-up sentence.

    Raises:
        StoreError: the database of accounts cannot be used.
        SettingsError: there is no folder for jobs.
    """
    observer = observer or Observer(observing_options(settings))
    accounts = Accounts.open(settings.database_url, requires_key=settings.requires_key)
    rates = Rates.open(settings.rate_storage_url, settings.rate_limit)
    inference = Inference(router, settings.request_timeout_s, preloaded)
    limits = TextLimits(settings.max_texts, settings.max_characters)
    sharing = CacheSharing(settings.segment_cache)
    desk = Desk(inference, accounts, limits, Detection(settings.detection), sharing)
    watcher = Watcher(router)

    opened = ExitStack()
    opened.callback(accounts.close)
    try:
        kept = open_jobs(settings, accounts, opened)
    except BaseException:
        opened.close()
        raise
    jobs = None if kept is None else open_job_desk(kept, desk, settings, observer.workers)

    @asynccontextmanager
    async def work_beside(_app: FastAPI) -> AsyncIterator[None]:
        working = nullcontext() if jobs is None else jobs.workers.working()
        async with anyio.create_task_group() as tasks:
            if settings.reuse_port:
                await desk.warm_up()  # others answer until then: nothing listens before the start is over
            else:
                tasks.start_soon(desk.warm_up)
            if settings.watch_s:
                tasks.start_soon(watcher.look_every, settings.watch_s)
            async with working:
                yield
            tasks.cancel_scope.cancel()
        await rates.close()
        opened.close()
        await beside(observer.close)

    wants_key = settings.discovery_access == "key"
    door = Door(accounts, rates)
    readiness = Readiness(inference, observer.workers)
    app = _bare_app(work_beside, documents_itself=not wants_key)
    if wants_key:
        app.include_router(document_routes(app, door))
    documents = _open_documents(settings, jobs)
    premises = Premises(desk, door, watcher, settings, jobs, documents, lambda: readiness.is_draining)
    apis = offered_apis(premises)
    _surround(app, settings, apis, observer)
    for api in apis:
        app.include_router(api.routes)
    app.state.readiness = readiness
    app.include_router(health_routes(app.state.readiness))
    app.include_router(observer.routes(inference, door))
    return app


def observing_options(settings: Settings) -> ObservingOptions:
    """What is watched, as the settings want it."""
    lines = LineOptions(settings.log_addresses, settings.log_texts)
    return ObservingOptions(
        settings.metrics_access, lines, settings.otlp_endpoint, settings.memory_budget_bytes
    )


def _open_documents(settings: Settings, jobs: JobDesk | None) -> Documents | None:
    """They are jobs of another kind, so that there are none without jobs."""
    if settings.documents == "off":
        return None
    if jobs is None:
        logger.warning("files are not translated for clients of DeepL and LibreTranslate: there are no jobs")
        return None
    return Documents(jobs)


def _bare_app(
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]], *, documents_itself: bool
) -> FastAPI:
    return FastAPI(
        title="Dragoman",
        summary="A self-hosted translation server",
        description=DESCRIPTION,
        version=installed_version("dragoman"),
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        default_response_class=SafeJSONResponse,
        redirect_slashes=False,
        openapi_url="/openapi.json" if documents_itself else None,
        redoc_url=None,
        lifespan=lifespan,
    )


def _surround(app: FastAPI, settings: Settings, apis: Sequence[Api], observer: Observer) -> None:
    """What every request passes; the last one added is the first to see it."""
    forms = observer.error_forms(api.errors for api in apis if api.errors is not None)
    install_error_handlers(app, forms)
    limits = BodyLimits(
        settings.max_body_bytes,
        settings.max_document_bytes,
        settings.client_timeout_s,
        frozenset[str]().union(*(api.document_paths for api in apis)),
        {path: most for api in apis for path, most in api.streamed_paths.items()},
        uploads=UploadLimits(
            settings.max_uploads_bytes,
            settings.max_uploads_bytes_of_client,
            has_keys=settings.database_url is not None or settings.requires_key,
        ),
        max_bodies=settings.max_bodies,
        max_bodies_of_address=settings.max_bodies_of_address,
    )
    app.add_middleware(BodyLimit, limits=limits, forms=forms)
    app.add_middleware(UnexpectedErrors, forms=forms)
    if origins := split_names(settings.cors_origins):
        app.add_middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", KEY_HEADER],
            expose_headers=["X-Request-ID"],
        )
    observer.surround(app)
