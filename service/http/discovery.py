"""The OpenAPI document and its page, for servers that require a key for them."""

from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.responses import Response

from service.http.authentication import Authenticator
from service.http.errors import SafeJSONResponse

DOCUMENT_PATH = "/openapi.json"


def document_routes(app: FastAPI, authenticator: Authenticator) -> APIRouter:
    """Return routes like FastAPI's own `/openapi.json` and `/docs`, for callers with any key."""
    routes = APIRouter(include_in_schema=False)

    @routes.get(DOCUMENT_PATH)
    async def document(connection: Request) -> Response:
        await authenticator.authenticate_key(connection, scope=None)
        return SafeJSONResponse(app.openapi())

    @routes.get("/docs")
    async def page(connection: Request) -> Response:
        await authenticator.authenticate_key(connection, scope=None)
        return get_swagger_ui_html(openapi_url=DOCUMENT_PATH, title=app.title)

    return routes
