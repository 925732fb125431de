"""What there is, and what of it was used."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.deepl.answers import DeepLRoute
from service.deepl.describing import LANGUAGES, USAGE
from service.deepl.entrance import enter
from service.deepl.languages import name_of, source_codes, target_codes
from service.desk.desk import Desk
from service.front.door import Door
from service.front.errors import SafeJSONResponse
from service.front.fields import field_error
from service.front.threads import beside

SOURCE, TARGET = "source", "target"
UNLIMITED_CHARACTERS = 10**12
"""What DeepL says of an account without a limit, as its clients expect a number."""


def catalogue_routes(desk: Desk, door: Door) -> APIRouter:
    """Languages and usage, for every key."""
    router = APIRouter(route_class=DeepLRoute)

    @router.get("/languages", summary="The languages served", openapi_extra=LANGUAGES)
    async def languages(connection: Request) -> Response:
        """Of sources unless `type` says `target`. It may be in the URL or in a form, as clients have it."""
        _, fields = await enter(connection, door, scope=None)
        side = fields.string("type") or SOURCE
        if side not in {SOURCE, TARGET}:
            raise field_error("type", f"must be one of {SOURCE}, {TARGET}")
        routes = desk.inference.router.routes
        codes = target_codes(routes) if side == TARGET else source_codes(routes)
        return SafeJSONResponse([_present(code, side) for code in codes])

    @router.get("/usage", summary="Characters used this month", openapi_extra=USAGE)
    async def usage(connection: Request) -> Response:
        """By the key that asks. Calendar months count, in UTC."""
        caller, _ = await enter(connection, door, scope=None)
        used = await beside(lambda: door.accounts.usage(caller))
        limit = caller.limits.characters_per_month
        return SafeJSONResponse(
            {
                "character_count": used.characters,
                "character_limit": UNLIMITED_CHARACTERS if limit is None else limit,
            }
        )

    return router


def _present(code: str, side: str) -> dict[str, Any]:
    presented: dict[str, Any] = {"language": code.upper(), "name": name_of(code)}
    if side == TARGET:
        presented["supports_formality"] = False
    return presented
