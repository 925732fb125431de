"""Routes that describe the server: its languages, settings and health."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.accounts.keys import Scope
from service.api.libretranslate.errors import disabled_error, enter
from service.api.libretranslate.languages import CatalogueCache
from service.api.libretranslate.responses import (
    FrontendSettings,
    Health,
    ListedLanguage,
    present_languages,
    present_settings,
)
from service.api.libretranslate.schemas import FORMS, WITH_ANY_KEY, SuggestIn, errors_of
from service.http.errors import ErrorKind, SafeJSONResponse
from service.http.openapi import MODEL_ERRORS, request_of
from service.readiness import require_ready
from service.services import Services


def server_routes(services: Services, catalogues: CatalogueCache, headers: Mapping[str, str]) -> APIRouter:
    """Return the routes that clients use before they translate; arguments are those of `text_routes`."""
    routes = APIRouter()

    @routes.get(
        "/languages",
        summary="List the languages",
        response_model=list[ListedLanguage],
        response_description="The languages, sorted by name",
        responses=errors_of([ErrorKind.INTERNAL]),
    )
    async def languages() -> Response:
        """Return each language with its target languages. This needs no API key, and ignores a body."""
        catalogue = await catalogues.current()
        return SafeJSONResponse(present_languages(catalogue.listed), headers=headers)

    @routes.get(
        "/frontend/settings",
        summary="Return settings for a web page",
        response_model=FrontendSettings,
        response_description="The settings",
        responses=errors_of([ErrorKind.INTERNAL]),
    )
    async def frontend_settings() -> Response:
        """Return limits and available features. This needs no API key."""
        catalogue = await catalogues.current()
        takes_files = services.documents is not None
        settings = present_settings(services.settings, catalogue, accepts_files=takes_files)
        return SafeJSONResponse(settings.model_dump(), headers=headers)

    @routes.get(
        "/health",
        summary="Whether the server can translate",
        response_model=Health,
        response_description="It can",
        responses=errors_of((ErrorKind.INTERNAL, ErrorKind.NOT_READY)),
    )
    async def health() -> Response:
        """Return 200 once every model that is loaded at the start has translated a warm-up sentence."""
        require_ready(services.translation_service.inference)
        return SafeJSONResponse({"status": "ok"}, headers=headers)

    @routes.post(
        "/suggest",
        status_code=403,
        summary="Suggest a better translation",
        dependencies=WITH_ANY_KEY,
        responses=errors_of([kind for kind in MODEL_ERRORS if kind is not ErrorKind.TIMEOUT]),
        openapi_extra=request_of(SuggestIn, FORMS),
    )
    async def suggest(request: Request) -> Response:
        """Return 403 always: this server does not store suggestions."""
        await enter(services.authenticator, request, Scope.TRANSLATE)
        raise disabled_error("Suggestions are disabled")

    return routes
