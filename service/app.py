"""The HTTP application: what serves, and what surrounds it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import anyio
from fastapi import FastAPI

from dragoman.routing.router import Router
from service.desk.inference import Inference
from service.front.errors import SafeJSONResponse, UnexpectedErrors, install_error_handlers
from service.front.limits import BodyLimit, TextLimits
from service.native.models import model_routes
from service.native.translation import health_routes, translation_routes
from service.settings import Settings
from service.versions import installed_version
from service.watching import Watcher

DESCRIPTION = """Text in, text out. Every error has one form: a type for programs, a message for people,
and the fields at fault. The same text gives the same translation, whatever else the server is doing."""


def create_app(router: Router, settings: Settings, preloaded: Sequence[str]) -> FastAPI:
    """An application that serves all pairs of a router.

    It answers at once; `/readyz` and `/v1/translate` do so with 503 until each of the `preloaded` bundles,
    given by their names, has translated a warm-up sentence.
    """
    inference = Inference(router, settings.request_timeout_s, preloaded)
    watcher = Watcher(router)

    @asynccontextmanager
    async def work_beside(_app: FastAPI) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(inference.warm_up)
            if settings.watch_s:
                tasks.start_soon(watcher.look_every, settings.watch_s)
            yield
            tasks.cancel_scope.cancel()

    app = FastAPI(
        title="Dragoman",
        summary="A self-hosted translation server",
        description=DESCRIPTION,
        version=installed_version("dragoman"),
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        default_response_class=SafeJSONResponse,
        redirect_slashes=False,
        redoc_url=None,
        lifespan=work_beside,
    )
    install_error_handlers(app)
    app.add_middleware(BodyLimit, max_body_bytes=settings.max_body_bytes)
    app.add_middleware(UnexpectedErrors)
    app.include_router(translation_routes(inference, TextLimits(settings.max_texts, settings.max_characters)))
    app.include_router(model_routes(router, watcher if settings.reload_endpoint else None))
    app.include_router(health_routes(inference))
    return app
