"""Routes that list the models and their languages, and one that looks for new models."""

import anyio.to_thread
from fastapi import APIRouter, Request

from dragoman.routing.router import Router
from service.accounts.keys import Scope
from service.api.native.examples import LANGUAGES, MODELS, RELOADED, shown
from service.api.native.listings import (
    LanguagesResponse,
    ModelsResponse,
    ReloadResponse,
    present_languages,
    present_models,
    present_report,
)
from service.http.authentication import Authenticator, key_in_headers
from service.http.errors import ErrorKind
from service.http.openapi_parts import REASONS, WITH_KEY, WITHOUT_KEY, error_responses
from service.model_watcher import ModelWatcher

OF_OPEN = {ErrorKind.INTERNAL: "The server failed"}
OF_CLOSED = {
    **OF_OPEN,
    ErrorKind.UNAUTHENTICATED: REASONS[ErrorKind.UNAUTHENTICATED],
    ErrorKind.RATE_LIMITED: REASONS[ErrorKind.RATE_LIMITED],
    ErrorKind.STORE_UNAVAILABLE: REASONS[ErrorKind.STORE_UNAVAILABLE],
}
OF_RELOADING = {
    ErrorKind.UNAUTHENTICATED: REASONS[ErrorKind.UNAUTHENTICATED],
    ErrorKind.FORBIDDEN: "The API key has not the scope `admin`",
    ErrorKind.CLIENT_TIMEOUT: REASONS[ErrorKind.CLIENT_TIMEOUT],
    ErrorKind.TOO_LARGE: "The body, of which none is needed, passes a limit",
    ErrorKind.RATE_LIMITED: REASONS[ErrorKind.RATE_LIMITED],
    ErrorKind.INTERNAL: "The server failed",
    ErrorKind.STORE_UNAVAILABLE: REASONS[ErrorKind.STORE_UNAVAILABLE],
}


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
    failing = error_responses(OF_CLOSED if requires_key else OF_OPEN)
    with_key = WITH_KEY if requires_key else ()
    known: list[tuple[object, LanguagesResponse]] = []

    @routes.get(
        "/models",
        operation_id="list_models",
        summary="The models served",
        response_description="Each as its manifest describes it",
        dependencies=with_key,
        responses={**shown(MODELS), **failing},
    )
    async def models(connection: Request) -> ModelsResponse:
        """Return languages, limits, measured quality and licence of each model, and whether it is loaded."""
        if requires_key:
            await authenticator.authenticate_key(connection, scope=None)
        return present_models(router.models())

    @routes.get(
        "/languages",
        operation_id="list_languages",
        summary="Which languages reach which",
        response_description="For each language what it is translated into, and how",
        dependencies=with_key,
        responses={**shown(LANGUAGES), **failing},
    )
    async def languages(connection: Request) -> LanguagesResponse:
        """List each source's targets: by a model for the pair, a multilingual one, or two through a third."""
        if requires_key:
            await authenticator.authenticate_key(connection, scope=None)
        if not known or known[0][0] is not router.routes:
            found = router.routes
            known[:] = [(found, await anyio.to_thread.run_sync(present_languages, found))]
        return known[0][1]

    if watcher is not None:

        @routes.post(
            "/models/reload",
            operation_id="reload_models",
            summary="Look for new, changed and removed models",
            response_description="What has changed",
            dependencies=WITH_KEY,
            responses={**shown(RELOADED), **error_responses(OF_RELOADING)},
            openapi_extra=dict(WITHOUT_KEY),
        )
        async def reload(connection: Request) -> ReloadResponse:
            """Scan the models' folders. Requests in progress finish with the models they began with."""
            if authenticator.accounts.requires_key:
                await authenticator.authenticate(connection, key_in_headers(connection), Scope.ADMIN)
            return present_report(await watcher.look())

    return routes
