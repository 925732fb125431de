"""Routes that list the models and their languages, and one that looks for new models."""

import anyio.to_thread
from fastapi import APIRouter, Request

from dragoman.routing.router import Router
from service.accounts.keys import Scope
from service.api.native.listings import (
    LanguagesResponse,
    ModelsResponse,
    ReloadResponse,
    present_languages,
    present_models,
    present_reload,
)
from service.http.authentication import Authenticator, key_in_headers
from service.http.errors import ErrorKind
from service.http.openapi import KEY_ERRORS, WITH_KEY, WITHOUT_KEY, error_responses
from service.model_watcher import ModelWatcher


def model_routes(
    router: Router, authenticator: Authenticator, watcher: ModelWatcher | None, *, requires_key: bool
) -> APIRouter:
    """Return the routes about models.

    Args:
        router: has the bundles.
        authenticator: checks API keys and rate limits.
        watcher: scans their folders on request; None if clients may not request that.
        requires_key: whether the lists need a key; any key will do.
    """
    routes = APIRouter(prefix="/v1", tags=["models"])
    errors = error_responses(KEY_ERRORS if requires_key else [ErrorKind.INTERNAL])
    with_key = WITH_KEY if requires_key else ()
    cached: list[tuple[object, LanguagesResponse]] = []

    @routes.get(
        "/models",
        operation_id="list_models",
        summary="List the models",
        response_description="Each as its manifest describes it",
        dependencies=with_key,
        responses=errors,
    )
    async def models(connection: Request) -> ModelsResponse:
        """Return languages, limits, measured quality and licence of each model, and whether it is loaded."""
        if requires_key:
            await authenticator.authenticate_key(connection, scope=None)
        return present_models(router.models())

    @routes.get(
        "/languages",
        operation_id="list_languages",
        summary="List the language pairs",
        response_description="The targets of each source language, with their models",
        dependencies=with_key,
        responses=errors,
    )
    async def languages(connection: Request) -> LanguagesResponse:
        """List each source's targets: by a model for the pair, a multilingual one, or two through a third."""
        if requires_key:
            await authenticator.authenticate_key(connection, scope=None)
        if not cached or cached[0][0] is not router.routes:
            current_routes = router.routes
            cached[:] = [(current_routes, await anyio.to_thread.run_sync(present_languages, current_routes))]
        return cached[0][1]

    if watcher is not None:

        @routes.post(
            "/models/reload",
            operation_id="reload_models",
            summary="Look for new, changed and removed models",
            response_description="What has changed",
            dependencies=WITH_KEY,
            responses=error_responses([*KEY_ERRORS, ErrorKind.CLIENT_TIMEOUT, ErrorKind.TOO_LARGE]),
            openapi_extra=dict(WITHOUT_KEY),
        )
        async def reload(connection: Request) -> ReloadResponse:
            """Scan the models' folders. Requests in progress finish with the models they began with."""
            if authenticator.accounts.requires_key:
                await authenticator.authenticate(connection, key_in_headers(connection), Scope.ADMIN)
            return present_reload(await watcher.look())

    return routes
