"""DeepL's paths that are not supported: the error says so, rather than that something was not found."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.api.deepl.authentication import enter
from service.api.deepl.responses import NEXT_ROOT, ROOT, DeepLRoute
from service.http.authentication import Authenticator
from service.http.errors import ApiError, ErrorKind

WRITE_ROOT = f"{ROOT}/write"
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
MESSAGES: Mapping[str, str] = {
    f"{NEXT_ROOT}/glossaries": "Multilingual glossaries (/v3/glossaries) are not supported; send requests "
    "without a glossary",
    f"{NEXT_ROOT}/style_rules": "Style rules (/v3/style_rules) are not supported; send requests without one",
    f"{NEXT_ROOT}/translation_memories": "Translation memories (/v3/translation_memories) are not supported; "
    "send requests without one",
}
"""Error messages by the beginning of the path."""


def unsupported_routes(authenticator: Authenticator) -> APIRouter:
    """Return routes that reject version 3 and DeepL Write with 400, which clients do not retry."""
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

    for prefix in (NEXT_ROOT, WRITE_ROOT):
        router.add_api_route(f"{prefix}/{{rest:path}}", reject, methods=METHODS, include_in_schema=False)
    return router
