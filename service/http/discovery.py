"""The OpenAPI document, for servers that require a key for it."""

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import Response

from service.http.authentication import Authenticator
from service.http.errors import SafeJSONResponse

DOCUMENT_PATH = "/openapi.json"


def document_routes(app: FastAPI, authenticator: Authenticator) -> APIRouter:
    """Return a route like FastAPI's own `/openapi.json`, for callers with any key."""
    routes = APIRouter(include_in_schema=False)

    @routes.get(DOCUMENT_PATH)
    async def document(connection: Request) -> Response:
        await authenticator.authenticate_key(connection, scope=None)
        return SafeJSONResponse(app.openapi())

    return routes
