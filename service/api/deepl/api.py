"""Definition of DeepL's API for the application."""

from collections.abc import Mapping

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from fastapi.security import APIKeyHeader, APIKeyQuery

from service.api.deepl.catalogue import catalogue_routes, resource_routes
from service.api.deepl.documents import document_routes
from service.api.deepl.glossaries import GlossaryAccess, glossary_routes, multilingual_glossary_routes
from service.api.deepl.memories import memory_routes
from service.api.deepl.responses import FORM, NEXT_ROOT, ROOT, DeepLRoute, enter
from service.api.deepl.schemas import errors_of
from service.api.deepl.transfers import UPLOADS, transfer_routes
from service.api.deepl.translation import translation_routes
from service.api.services import ApiDefinition, Services
from service.http.authentication import Authenticator
from service.http.errors import ApiError, ErrorKind
from service.http.openapi import operation_ids

WRITE_ROOT = f"{ROOT}/write"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
MESSAGES: Mapping[str, str] = {
    f"{NEXT_ROOT}/style_rules": "Style rules (/v3/style_rules) are not supported; send requests without one",
}
"""Error messages by the beginning of the path."""


def unsupported_routes(authenticator: Authenticator) -> APIRouter:
    """Return routes that reject what is not supported with 400, which clients do not retry."""
    router = APIRouter(route_class=DeepLRoute)

    async def reject(connection: Request) -> Response:
        await enter(connection, authenticator, scope=None)
        path = str(connection.url.path)
        for beginning, message in MESSAGES.items():
            if path.startswith(beginning):
                raise ApiError(ErrorKind.MALFORMED, message)
        raise ApiError(
            ErrorKind.MALFORMED, f"{path[:80]} is not supported; texts are translated at {ROOT}/translate"
        )

    for beginning in (*MESSAGES, WRITE_ROOT):
        router.add_api_route(f"{beginning}{{rest:path}}", reject, methods=METHODS, include_in_schema=False)
    return router


DOCUMENT_PATHS = frozenset(
    {
        f"{ROOT}/document",
        f"{ROOT}/glossaries",
        f"{NEXT_ROOT}/glossaries",
        f"{NEXT_ROOT}/glossaries/",
        f"{NEXT_ROOT}{UPLOADS}",
    }
)
"""Paths whose bodies may be larger than texts; DeepL's clients may send a glossary of 10 MiB."""
KEY_HEADER = APIKeyHeader(
    name="Authorization",
    scheme_name="DeepL",
    description="`DeepL-Auth-Key KEY`, where the server wants a key.",
    auto_error=False,
)
KEY_IN_QUERY = APIKeyQuery(
    name="auth_key",
    scheme_name="DeepLQuery",
    description="The key as a field `auth_key`, of the URL or of the body.",
    auto_error=False,
)
"""Both only serve the OpenAPI document; `authentication.enter` reads the keys."""


def deepl_api(services: Services) -> ApiDefinition:
    """Return DeepL's API: all paths under `/v2`; languages, glossaries and memories under `/v3`."""
    access = GlossaryAccess(services)
    all_routes = APIRouter(
        tags=["deepl"],
        responses=errors_of(),
        dependencies=[Depends(KEY_HEADER), Depends(KEY_IN_QUERY)],
        generate_unique_id_function=operation_ids("deepl"),
    )
    for root, part in (
        (ROOT, translation_routes(services)),
        (ROOT, catalogue_routes(services)),
        (NEXT_ROOT, resource_routes(services)),
        (ROOT, glossary_routes(access)),
        (ROOT, document_routes(services)),
        (NEXT_ROOT, multilingual_glossary_routes(access)),
        (NEXT_ROOT, transfer_routes(services)),
        (NEXT_ROOT, memory_routes(services)),
    ):
        all_routes.include_router(part, prefix=root)
    all_routes.include_router(unsupported_routes(services.authenticator))
    return ApiDefinition(all_routes, FORM, DOCUMENT_PATHS)
