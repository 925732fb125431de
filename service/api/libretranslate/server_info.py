"""Routes that describe the server: its languages, settings and health."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.accounts.keys import Scope
from service.api.libretranslate.errors import disabled, enter
from service.api.libretranslate.languages import Catalogues
from service.api.libretranslate.openapi_parts import (
    OF_WORK,
    SUGGEST,
    WITH_ANY_KEY,
    answered,
    failures,
    form_body,
    responses,
)
from service.api.libretranslate.responses import (
    FrontendSettings,
    Health,
    ListedLanguage,
    present_languages,
    present_settings,
)
from service.http.errors import ErrorKind, SafeJSONResponse
from service.readiness import require_ready
from service.services import Services

LISTED = {
    "two": [
        {"code": "en", "name": "English", "targets": ["en"]},
        {"code": "de", "name": "German", "targets": ["de", "en"]},
    ]
}
SETTINGS = {
    "with files, without keys": {
        "charLimit": 100000,
        "frontendTimeout": 500,
        "apiKeys": False,
        "keyRequired": False,
        "suggestions": False,
        "filesTranslation": True,
        "supportedFilesFormat": [".txt", ".html", ".docx"],
        "language": {
            "source": {"code": "auto", "name": "Auto Detect"},
            "target": {"code": "en", "name": "English"},
        },
    }
}
OF_SUGGESTING = [kind for kind in OF_WORK if kind is not ErrorKind.TIMEOUT]


def server_routes(services: Services, catalogues: Catalogues, headers: Mapping[str, str]) -> APIRouter:
    """Return the routes that clients use before they translate; arguments are those of `text_routes`."""
    routes = APIRouter()

    @routes.get(
        "/languages",
        summary="The languages there are",
        responses=responses(answered(list[ListedLanguage], "By their names", LISTED), [ErrorKind.INTERNAL]),
    )
    async def languages() -> Response:
        """Return each language with its target languages. This needs no API key, and ignores a body."""
        served = await catalogues.current()
        return SafeJSONResponse(present_languages(served.listed), headers=headers)

    @routes.get(
        "/frontend/settings",
        summary="What a page in front of the server needs to know",
        responses=responses(answered(FrontendSettings, "The settings", SETTINGS), [ErrorKind.INTERNAL]),
    )
    async def frontend_settings() -> Response:
        """Return limits and available features. This needs no API key."""
        served = await catalogues.current()
        takes_files = services.documents is not None
        settings = present_settings(services.settings, served, takes_files=takes_files)
        return SafeJSONResponse(settings.model_dump(), headers=headers)

    @routes.get(
        "/health",
        summary="Whether the server can translate",
        responses=responses(
            answered(Health, "It can", {"it can": {"status": "ok"}}),
            (ErrorKind.INTERNAL, ErrorKind.NOT_READY),
        ),
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
        responses=failures(OF_SUGGESTING),
        openapi_extra=form_body(
            SUGGEST, {"q": "Good night", "s": "Gute Nacht", "source": "en", "target": "de"}
        ),
    )
    async def suggest(request: Request) -> Response:
        """Return 403 always: this server does not store suggestions."""
        await enter(services.authenticator, request, Scope.TRANSLATE)
        raise disabled("Suggestions are disabled")

    return routes
