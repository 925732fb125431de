"""Routes that return languages and usage."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dragoman.errors import UnsupportedPair
from dragoman.routing.routes import Routes
from service.api.deepl.responses import DeepLRoute, enter
from service.api.deepl.schemas import DeepLLanguage, DeepLLanguagesQuery, DeepLUsage, UsageQuery
from service.api.languages import english_name
from service.api.services import Services
from service.http.errors import SafeJSONResponse
from service.http.openapi import describe_route, get_and_post, query_parameters, request_of
from service.work.threads import run_in_thread

REGIONAL_TARGETS = {"en": ("en-GB", "en-US"), "pt": ("pt-BR", "pt-PT")}
"""Targets that clients offer instead of these languages; a model for `en` translates into either."""


def base_code(code: str) -> str:
    """Return the name of a language as a source: `PT` for `pt-BR`."""
    return code.replace("_", "-").split("-")[0].upper()


def source_codes(routes: Routes) -> list[str]:
    """Return the codes of all source languages."""
    return sorted({base_code(code).lower() for code in routes.sources()})


def target_codes(routes: Routes) -> list[str]:
    """Return the codes of all target languages."""
    return sorted({each for code in routes.targets() for each in REGIONAL_TARGETS.get(code, (code,))})


def are_variants(source: str | None, target: str | None, routes: Routes) -> bool:
    """Return whether two codes, such as `EN` and `EN-US`, name one language and no model translates between.

    Raises:
        UnsupportedPair: they do, but nothing translates into the target from any language.
    """
    if source is None or target is None or base_code(source) != base_code(target):
        return False
    try:
        routes.find(source, target)
    except UnsupportedPair:
        routes.sources_of(target)
        return True
    return False


def direct_pairs(routes: Routes) -> list[tuple[str, str]]:
    """Return the pairs that a single model serves, by codes in lower case without regions."""
    found = {
        (base_code(source).lower(), base_code(target).lower())
        for source in routes.sources()
        for target, route in routes.all_from(source)
        if len(route.steps) == 1
    }
    return sorted(found)


TARGET = "target"
UNLIMITED_CHARACTERS = 10**12
"""Limit that DeepL reports for an account without one; its clients expect a number."""


def catalogue_routes(services: Services) -> APIRouter:
    """Return the routes for languages and usage; any key may use them."""
    router = APIRouter(route_class=DeepLRoute)

    @get_and_post(
        router,
        "/languages",
        ("languages", "languages_posted"),
        DeepLLanguagesQuery,
        describe_route("List the languages", "The languages of one side", list[DeepLLanguage]),
    )
    async def languages(connection: Request) -> Response:
        """Return the source languages, or the target ones if `type`, in the URL or in a form, is `target`."""
        _, fields = await enter(connection, services.authenticator, scope=None)
        side = fields.read(DeepLLanguagesQuery).type
        routes = services.translation_service.inference.router.routes
        codes = target_codes(routes) if side == TARGET else source_codes(routes)
        formality = routes.formality_targets()
        return SafeJSONResponse([_present(code, side, formality) for code in codes])

    @router.get(
        "/usage",
        **describe_route(
            "Characters used this month",
            "The usage of the request's key",
            DeepLUsage,
            request=request_of(parameters=query_parameters(UsageQuery)),
        ),
    )
    async def usage(connection: Request) -> Response:
        """Return the usage of the request's key. Months are calendar months in UTC."""
        caller, _ = await enter(connection, services.authenticator, scope=None)
        used = await run_in_thread(lambda: services.authenticator.accounts.usage(caller))
        limit = caller.limits.characters_per_month
        return SafeJSONResponse(
            {
                "character_count": used.characters,
                "character_limit": UNLIMITED_CHARACTERS if limit is None else limit,
            }
        )

    return router


def _present(code: str, side: str, formality_targets: frozenset[str]) -> dict[str, Any]:
    presented: dict[str, Any] = {"language": code.upper(), "name": english_name(code)}
    if side == TARGET:
        presented["supports_formality"] = code in formality_targets
    return presented
