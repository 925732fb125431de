"""Definition of DeepL's API for the application."""

from fastapi import APIRouter, Request
from fastapi.responses import Response
from fastapi.security import APIKeyHeader, APIKeyQuery

from service.api.deepl.access import enter
from service.api.deepl.documents import add_documents
from service.api.deepl.glossaries import GlossaryAccess, add_glossaries, add_multilingual_glossaries
from service.api.deepl.languages import add_languages, add_resources
from service.api.deepl.memories import add_memories
from service.api.deepl.responses import FORM, NEXT_ROOT, ROOT, DeepLRoute
from service.api.deepl.schemas import errors_of
from service.api.deepl.transfers import UPLOADS, add_transfers
from service.api.deepl.translation import add_translation
from service.api.services import ApiDefinition, Services
from service.http.api_router import ApiRouter
from service.http.authentication import Authenticator
from service.http.errors import ApiError, ErrorKind
from service.http.openapi import key_scheme, operation_ids

WRITE_ROOT = f"{ROOT}/write"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
STYLE_RULES = f"{NEXT_ROOT}/style_rules"


def add_unsupported(router: APIRouter, authenticator: Authenticator) -> None:
    """Add routes that reject what is not supported with 400, which clients do not retry."""

    async def reject(connection: Request) -> Response:
        await enter(connection, authenticator, scope=None)
        path = str(connection.url.path)
        problem = f"{path[:80]} is not supported; texts are translated at {ROOT}/translate"
        if path.startswith(STYLE_RULES):
            problem = "Style rules (/v3/style_rules) are not supported; send requests without one"
        raise ApiError(ErrorKind.MALFORMED, problem)

    for beginning in (STYLE_RULES, WRITE_ROOT):
        router.add_api_route(f"{beginning}{{rest:path}}", reject, methods=METHODS, include_in_schema=False)


DOCUMENT_PATHS = frozenset(
    {f"{ROOT}/document", f"{ROOT}/glossaries", f"{NEXT_ROOT}/glossaries", f"{NEXT_ROOT}/glossaries/", UPLOADS}
)
"""Paths whose bodies may be larger than texts; DeepL's clients may send a glossary of 10 MiB."""
KEY_SCHEMES = (
    key_scheme(APIKeyHeader, "Authorization", "DeepL", "`DeepL-Auth-Key KEY`, where the server wants a key."),
    key_scheme(
        APIKeyQuery, "auth_key", "DeepLQuery", "The key as a field `auth_key`, of the URL or of the body."
    ),
)


def deepl_api(services: Services) -> ApiDefinition:
    """Return DeepL's API: all paths under `/v2`; languages, glossaries and memories under `/v3`."""
    routes = ApiRouter(
        tags=["deepl"],
        responses=errors_of(),
        dependencies=KEY_SCHEMES,
        route_class=DeepLRoute,
        generate_unique_id_function=operation_ids("deepl"),
    )
    access = GlossaryAccess(services)
    add_translation(routes, services)
    add_languages(routes, services)
    add_resources(routes, services)
    add_glossaries(routes, access)
    add_documents(routes, services)
    add_multilingual_glossaries(routes, access)
    add_transfers(routes, services)
    add_memories(routes, services)
    add_unsupported(routes, services.authenticator)
    return ApiDefinition(routes, FORM, DOCUMENT_PATHS)
