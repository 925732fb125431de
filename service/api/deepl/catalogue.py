"""Routes that return languages and usage."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.api.deepl.authentication import enter
from service.api.deepl.languages import english_name, source_codes, target_codes
from service.api.deepl.responses import DeepLRoute
from service.api.deepl.schemas import DeepLLanguage, LanguagesQuery, Usage, UsageQuery
from service.http.authentication import Authenticator
from service.http.errors import SafeJSONResponse
from service.http.fields import field_error
from service.http.openapi import query_parameters, request_of
from service.http.threads import run_in_thread
from service.translation.translation_service import TranslationService

SOURCE, TARGET = "source", "target"
UNLIMITED_CHARACTERS = 10**12
"""Limit that DeepL reports for an account without one; its clients expect a number."""


def catalogue_routes(translation_service: TranslationService, authenticator: Authenticator) -> APIRouter:
    """Return the routes for languages and usage; any key may use them."""
    router = APIRouter(route_class=DeepLRoute)

    @router.get(
        "/languages",
        summary="List the languages",
        response_model=list[DeepLLanguage],
        response_description="The languages of one side",
        openapi_extra=request_of(parameters=query_parameters(LanguagesQuery)),
    )
    async def languages(connection: Request) -> Response:
        """Return the source languages, or the target ones if `type`, in the URL or in a form, is `target`."""
        _, fields = await enter(connection, authenticator, scope=None)
        side = fields.string("type") or SOURCE
        if side not in {SOURCE, TARGET}:
            raise field_error("type", f"must be one of {SOURCE}, {TARGET}")
        routes = translation_service.inference.router.routes
        codes = target_codes(routes) if side == TARGET else source_codes(routes)
        return SafeJSONResponse([_present(code, side) for code in codes])

    @router.get(
        "/usage",
        summary="Characters used this month",
        response_model=Usage,
        response_description="The usage of the request's key",
        openapi_extra=request_of(parameters=query_parameters(UsageQuery)),
    )
    async def usage(connection: Request) -> Response:
        """Return the usage of the request's key. Months are calendar months in UTC."""
        caller, _ = await enter(connection, authenticator, scope=None)
        used = await run_in_thread(lambda: authenticator.accounts.usage(caller))
        limit = caller.limits.characters_per_month
        return SafeJSONResponse(
            {
                "character_count": used.characters,
                "character_limit": UNLIMITED_CHARACTERS if limit is None else limit,
            }
        )

    return router


def _present(code: str, side: str) -> dict[str, Any]:
    presented: dict[str, Any] = {"language": code.upper(), "name": english_name(code)}
    if side == TARGET:
        presented["supports_formality"] = False
    return presented
