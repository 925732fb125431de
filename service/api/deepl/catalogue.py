"""Routes that return languages, of both versions, and usage."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.api.deepl import language_schemas as listed
from service.api.deepl import schemas
from service.api.deepl.languages import (
    AUTO_DETECTION,
    FORMALITY,
    GLOSSARY,
    NEEDED_SIDES,
    REPLACED,
    RESOURCES,
    ServedLanguage,
    base_code,
    served_languages,
)
from service.api.deepl.responses import DeepLRoute, enter
from service.api.languages import RoutesCache
from service.api.services import Services
from service.http import openapi
from service.http.errors import SafeJSONResponse
from service.work.threads import run_in_thread

TARGET = "target"
UNLIMITED_CHARACTERS = 10**12
"""Limit that DeepL reports for an account without one; its clients expect a number."""
STABLE = "stable"
"""Status of all languages and features."""


def catalogue_routes(services: Services) -> APIRouter:
    """Return the routes for languages and usage; any key may use them."""
    router = APIRouter(route_class=DeepLRoute)
    served = RoutesCache(services.translation_service.inference, served_languages)

    @openapi.get_and_post(
        router,
        "/languages",
        ("languages", "languages_posted"),
        listed.DeepLLanguagesQuery,
        openapi.describe_route("List the languages", "The languages of one side", list[listed.DeepLLanguage]),
    )
    async def languages(connection: Request) -> Response:
        """Return the source languages, or the target ones if `type`, in the URL or in a form, is `target`."""
        _, fields = await enter(connection, services.authenticator, scope=None)
        is_target = fields.read(listed.DeepLLanguagesQuery).type == TARGET
        present = _present_target if is_target else _present_source
        return SafeJSONResponse([shown for each in await served.current() if (shown := present(each))])

    @router.get(
        "/usage",
        **openapi.describe_route(
            "Characters used this month",
            "The usage of the request's key",
            schemas.DeepLUsage,
            request=openapi.request_of(parameters=openapi.query_parameters(schemas.UsageQuery)),
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


def resource_routes(services: Services) -> APIRouter:
    """Return the routes of version 3 for languages; any key may use them."""
    router = APIRouter(route_class=DeepLRoute)
    served = RoutesCache(services.translation_service.inference, served_languages)
    unavailable = frozenset[str]() if services.settings.detection == "on" else {AUTO_DETECTION}

    @router.get(
        "/languages",
        **openapi.describe_route(
            "List the languages of a resource",
            "The languages",
            list[listed.ResourceLanguage],
            request=openapi.request_of(parameters=openapi.query_parameters(listed.ResourceLanguagesQuery)),
        ),
    )
    async def resource_languages(connection: Request) -> Response:
        """Return each language with what the server offers for it."""
        _, fields = await enter(connection, services.authenticator, scope=None)
        resource = fields.read(listed.ResourceLanguagesQuery).resource
        offered = [name for name in RESOURCES[resource] if name not in unavailable]
        found = [each for each in await served.current() if resource != GLOSSARY or _has_glossaries(each)]
        return SafeJSONResponse([_present_for_resource(each, offered) for each in found])

    @router.get(
        "/languages/resources",
        **openapi.describe_route(
            "List the resources",
            "The resources",
            list[listed.LanguageResource],
            request=openapi.request_of(),
        ),
    )
    async def language_resources(connection: Request) -> Response:
        """Return the features of each resource, and which language of a pair needs them."""
        await enter(connection, services.authenticator, scope=None)
        return SafeJSONResponse(
            [
                {
                    "name": resource,
                    "features": [
                        {"name": name, **NEEDED_SIDES[name]} for name in names if name not in unavailable
                    ],
                }
                for resource, names in RESOURCES.items()
            ]
        )

    return router


def _present_source(language: ServedLanguage) -> dict[str, Any] | None:
    return {"language": language.code.upper(), "name": language.name} if language.is_source else None


def _present_target(language: ServedLanguage) -> dict[str, Any] | None:
    if not language.is_target or language.code in REPLACED:
        return None
    return {
        "language": language.code.upper(),
        "name": language.name,
        "supports_formality": FORMALITY in language.features,
    }


def _present_for_resource(language: ServedLanguage, offered: Sequence[str]) -> dict[str, Any]:
    return {
        "lang": language.code,
        "name": language.name,
        "usable_as_source": language.is_source,
        "usable_as_target": language.is_target,
        "status": STABLE,
        "features": {name: {"status": STABLE} for name in offered if name in language.features},
    }


def _has_glossaries(language: ServedLanguage) -> bool:
    """Return whether glossaries may have a language: they have no regions."""
    return GLOSSARY in language.features and language.code == base_code(language.code).lower()
