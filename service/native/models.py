"""Routes that tell of the models, and one that looks for new ones."""

import anyio.to_thread
from fastapi import APIRouter, Request

from dragoman.routing.router import Router
from service.accounts.keys import Scope
from service.front.door import Door, key_in_headers
from service.front.errors import ErrorKind, document_errors
from service.native.catalogue import (
    LanguagesResponse,
    ModelsResponse,
    ReloadResponse,
    present_languages,
    present_models,
    present_report,
)
from service.watching import Watcher


def model_routes(router: Router, door: Door, watcher: Watcher | None) -> APIRouter:
    """What there is.

    Args:
        router: has the bundles.
        door: lets operators in.
        watcher: looks at their folders on request; None where clients may not ask for that.
    """
    routes = APIRouter(prefix="/v1", tags=["models"])
    failures = document_errors({ErrorKind.INTERNAL: "The server failed"})
    known: list[tuple[object, LanguagesResponse]] = []

    @routes.get(
        "/models",
        summary="The models served",
        response_description="Each as its manifest describes it",
        responses=failures,
    )
    async def models() -> ModelsResponse:
        """Languages, limits, measured quality and licence, and whether each is in memory."""
        return present_models(router.models())

    @routes.get(
        "/languages",
        summary="Which languages reach which",
        response_description="For each language what it is translated into, and how",
        responses=failures,
    )
    async def languages() -> LanguagesResponse:
        """By a model of its own, by one of many languages, or by two through a third language."""
        if not known or known[0][0] is not router.routes:
            found = router.routes
            known[:] = [(found, await anyio.to_thread.run_sync(present_languages, found))]
        return known[0][1]

    if watcher is not None:

        @routes.post(
            "/models/reload",
            summary="Look for new, changed and removed models",
            response_description="What has changed",
            responses=document_errors(
                {
                    ErrorKind.UNAUTHENTICATED: "There is no API key, and the server wants one",
                    ErrorKind.FORBIDDEN: "The API key has not the scope `admin`",
                    ErrorKind.INTERNAL: "The server failed",
                }
            ),
        )
        async def reload(connection: Request) -> ReloadResponse:
            """Requests under way are finished with the models they began with."""
            if door.accounts.requires_key:
                await door.admit(connection, key_in_headers(connection), Scope.ADMIN)
            return present_report(await watcher.look())

    return routes
