"""Definition of LibreTranslate's API: its routes, CORS headers and specification."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from service.api.catalogue import catalogue
from service.api.languages import RoutesCache
from service.api.libretranslate.errors import PATHS, TRANSLATE_FILE, error_form
from service.api.libretranslate.files import file_routes
from service.api.libretranslate.responses import errors_of
from service.api.libretranslate.texts import server_routes, text_routes
from service.api.services import ApiDefinition, Services
from service.http.errors import ErrorKind, SafeJSONResponse
from service.http.openapi import describe_route, operation_ids
from service.versions import installed_version

CORS: Mapping[str, str] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key",
}


def libretranslate_api(services: Services) -> ApiDefinition:
    """Return LibreTranslate's API, on LibreTranslate's own paths.

    Any web page may call it from a browser, as its clients expect, unless the settings name the origins.
    """
    headers: Mapping[str, str] = {} if services.settings.cors_origins else CORS
    catalogues = RoutesCache(services.translation_service.inference, catalogue)
    routes = APIRouter(tags=["libretranslate"], generate_unique_id_function=operation_ids("libretranslate"))
    for part in (text_routes, file_routes, server_routes):
        routes.include_router(part(services, catalogues, headers))
    _add_specification(routes, headers)
    _add_preflights(routes, headers)
    return ApiDefinition(routes, error_form(headers), frozenset({TRANSLATE_FILE}))


def _add_specification(routes: APIRouter, headers: Mapping[str, str]) -> None:
    known: dict[str, Any] = {}

    @routes.get(
        "/spec",
        **describe_route(
            "Return this API's OpenAPI document",
            "The document",
            dict[str, Any],
            errors_of([ErrorKind.INTERNAL]),
        ),
    )
    async def specification() -> Response:
        """Return the specification of these routes alone; `/openapi.json` has all routes of the server."""
        if not known:
            described = get_openapi(
                title="LibreTranslate's API", version=installed_version("dragoman"), routes=routes.routes
            )
            known.update(described)
        return SafeJSONResponse(known, headers=headers)


def _add_preflights(routes: APIRouter, headers: Mapping[str, str]) -> None:
    """Add routes for the preflight requests that browsers send before JSON to another origin."""

    async def preflight() -> Response:
        return Response(headers=dict(headers))

    for path in PATHS:
        routes.add_api_route(path, preflight, methods=["OPTIONS"], include_in_schema=False)
