"""Routes that tell of the server: its languages, its settings, its state."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.accounts.keys import Scope
from service.front.errors import ErrorKind, SafeJSONResponse
from service.front.fields import read_fields
from service.front.premises import Premises
from service.front.readiness import require_ready
from service.libretranslate.documentation import OF_WORK, responses
from service.libretranslate.languages import Catalogues
from service.libretranslate.refusals import admit, disabled
from service.libretranslate.responses import (
    FrontendSettings,
    Health,
    LanguageOut,
    present_languages,
    present_settings,
)


def server_routes(premises: Premises, catalogues: Catalogues, headers: Mapping[str, str]) -> APIRouter:
    """What clients ask before they translate; arguments as for texts."""
    routes = APIRouter()

    @routes.get(
        "/languages",
        summary="The languages there are",
        responses=responses(
            {"model": list[LanguageOut], "description": "By their names"}, [ErrorKind.INTERNAL]
        ),
    )
    async def languages() -> Response:
        """What each is translated into. It needs no API key, and a body is not looked at."""
        served = await catalogues.current()
        return SafeJSONResponse(present_languages(served.listed), headers=headers)

    @routes.get(
        "/frontend/settings",
        summary="What a page in front of the server needs to know",
        responses=responses({"model": FrontendSettings, "description": "The settings"}, [ErrorKind.INTERNAL]),
    )
    async def frontend_settings() -> Response:
        """Limits, and what is offered. It needs no API key."""
        served = await catalogues.current()
        takes_files = premises.documents is not None
        settings = present_settings(premises.settings, served, takes_files=takes_files)
        return SafeJSONResponse(settings.model_dump(), headers=headers)

    @routes.get(
        "/health",
        summary="Whether the server can translate",
        responses=responses(
            {"model": Health, "description": "It can"}, (ErrorKind.INTERNAL, ErrorKind.NOT_READY)
        ),
    )
    async def health() -> Response:
        """Every model that is loaded at the start has translated a warm-up sentence."""
        require_ready(premises.desk.inference)
        return SafeJSONResponse({"status": "ok"}, headers=headers)

    @routes.post(
        "/suggest",
        summary="Suggest a better translation",
        responses=responses({"description": "Never"}, OF_WORK),
    )
    async def suggest(request: Request) -> Response:
        """Always 403: this server does not keep suggestions."""
        await admit(premises.door, request, await read_fields(request), Scope.TRANSLATE)
        raise disabled("Suggestions are disabled")

    return routes
