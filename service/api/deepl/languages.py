"""Languages as DeepL names them, what the server offers for each, and the routes that list them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from pydantic import BeforeValidator, Field

from dragoman.errors import UnsupportedPair
from dragoman.routing.routes import Routes
from service.api.deepl import schemas
from service.api.deepl.access import enter
from service.api.deepl.responses import NEXT_ROOT, ROOT
from service.api.languages import RoutesCache, english_name
from service.api.services import Services
from service.http import openapi
from service.http.errors import SafeJSONResponse
from service.http.validation import Texts
from service.work.threads import run_in_thread

REGIONAL_TARGETS: Mapping[str, tuple[str, ...]] = {
    "de": ("de-CH",),
    "en": ("en-GB", "en-US"),
    "pt": ("pt-BR", "pt-PT"),
}
"""Targets beside these languages; a model for `en` translates into either of its own."""
REPLACED = frozenset({"en", "pt"})
"""Targets of which clients of version 2 offer the regional ones only."""
AUTO_DETECTION, FORMALITY, GLOSSARY, MEMORY = "auto_detection", "formality", "glossary", "translation_memory"
BOTH = {"needs_source_support": True, "needs_target_support": True}
NEEDED_SIDES: Mapping[str, Mapping[str, bool]] = {
    AUTO_DETECTION: {"needs_source_support": True},
    FORMALITY: {"needs_target_support": True},
    GLOSSARY: BOTH,
    "tag_handling": BOTH,
    MEMORY: BOTH,
}
"""Languages of a pair that need a feature for the pair to have it."""
RESOURCES: Mapping[str, tuple[str, ...]] = {
    "translate_text": tuple(NEEDED_SIDES),
    "translate_document": (AUTO_DETECTION, FORMALITY, GLOSSARY, MEMORY),
    GLOSSARY: (),
    "style_rules": (),
    MEMORY: (),
    "voice": (),
    "write": (),
}
"""Features of each resource of DeepL's. Clients expect a list for every resource, with languages in it."""


@dataclass(frozen=True, slots=True)
class ServedLanguage:
    """A language or a regional target."""

    code: str
    is_source: bool
    is_target: bool
    features: frozenset[str]

    @property
    def name(self) -> str:
        return english_name(self.code)


def served_languages(routes: Routes) -> list[ServedLanguage]:
    """Return all languages by code: sources without regions, targets with and without."""
    sources = {base_code(code).lower() for code in routes.sources()}
    targets = {each: code for code in routes.targets() for each in (code, *REGIONAL_TARGETS.get(code, ()))}
    in_glossaries = {code for pair in direct_pairs(routes) for code in pair}
    with_formality = routes.formality_targets()

    def describe(code: str) -> ServedLanguage:
        has_feature = {
            AUTO_DETECTION: code in sources,
            FORMALITY: targets.get(code) in with_formality,
            GLOSSARY: base_code(code).lower() in in_glossaries,
        }
        features = frozenset(name for name in NEEDED_SIDES if has_feature.get(name, True))
        return ServedLanguage(code, code in sources, code in targets, features)

    return [describe(code) for code in sorted({*sources, *targets})]


def base_code(code: str) -> str:
    """Return the name of a language as a source: `PT` for `pt-BR`."""
    return code.replace("_", "-").split("-")[0].upper()


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


Resource = Literal[
    "translate_text", "translate_document", "glossary", "style_rules", "translation_memory", "voice", "write"
]


def _to_lower(value: object) -> object:
    return value.lower() if isinstance(value, str) else value


class DeepLLanguagesQuery(openapi.DocumentedModel):
    """Query of the list of languages."""

    model_config = openapi.examples({"type": "target"})

    type: Literal["source", "target"] = "source"
    """Side of the translation."""
    auth_key: schemas.ApiKey = None


class DeepLLanguage(openapi.DocumentedModel):
    """A language that the server translates from or into."""

    language: str
    name: str
    supports_formality: bool = False
    """Only of target languages."""


class ResourceLanguagesQuery(openapi.DocumentedModel):
    """Query of the languages of a resource."""

    model_config = openapi.examples({"resource": "translate_text"})

    resource: Annotated[Resource, BeforeValidator(_to_lower)]
    """Use of the languages, in any case. The server has no voice, no rephrasing and no style rules."""
    include: Texts = Field([])
    """No effect: nothing is `beta` or `external`."""


class FeatureStatus(openapi.DocumentedModel):
    """A feature that a language has."""

    status: Literal["stable"]


class ResourceLanguage(openapi.DocumentedModel):
    """A language, and what the server offers for it."""

    lang: str
    """Its code, as in `en-US`."""
    name: str
    usable_as_source: bool
    usable_as_target: bool
    status: Literal["stable"]
    features: dict[str, FeatureStatus]
    """By name; a feature that is missing is not offered."""


class ResourceFeature(openapi.DocumentedModel):
    """A feature of a resource, for pairs whose languages have it."""

    name: str
    needs_source_support: bool = False
    needs_target_support: bool = False


class LanguageResource(openapi.DocumentedModel):
    """A resource and its features."""

    name: Resource
    features: list[ResourceFeature]


TARGET = "target"
UNLIMITED_CHARACTERS = 10**12
"""Limit that DeepL reports for an account without one; its clients expect a number."""
STABLE = "stable"
"""Status of all languages and features."""


def add_languages(router: APIRouter, services: Services) -> None:
    """Add the routes for languages and usage; any key may use them."""
    served = RoutesCache(services.translation_service.inference, served_languages)

    @openapi.get_and_post(
        router,
        f"{ROOT}/languages",
        ("languages", "languages_posted"),
        DeepLLanguagesQuery,
        openapi.describe_route("List the languages", "The languages of one side", list[DeepLLanguage]),
    )
    async def languages(connection: Request) -> SafeJSONResponse:
        """Return the source languages, or the target ones if `type`, in the URL or in a form, is `target`."""
        _, fields = await enter(connection, services.authenticator, scope=None)
        is_target = fields.read(DeepLLanguagesQuery).type == TARGET
        present = _present_target if is_target else _present_source
        return SafeJSONResponse([shown for each in await served.current() if (shown := present(each))])

    @router.get(
        f"{ROOT}/usage",
        **openapi.describe_route(
            "Characters used this month",
            "The usage of the request's key",
            schemas.DeepLUsage,
            request=openapi.request_of(query=schemas.UsageQuery),
        ),
    )
    async def usage(connection: Request) -> SafeJSONResponse:
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


def add_resources(router: APIRouter, services: Services) -> None:
    """Add the routes of version 3 for languages; any key may use them."""
    served = RoutesCache(services.translation_service.inference, served_languages)
    unavailable = frozenset[str]() if services.settings.detection == "on" else {AUTO_DETECTION}

    @router.get(
        f"{NEXT_ROOT}/languages",
        **openapi.describe_route(
            "List the languages of a resource",
            "The languages",
            list[ResourceLanguage],
            request=openapi.request_of(query=ResourceLanguagesQuery),
        ),
    )
    async def resource_languages(connection: Request) -> SafeJSONResponse:
        """Return each language with what the server offers for it."""
        _, fields = await enter(connection, services.authenticator, scope=None)
        resource = fields.read(ResourceLanguagesQuery).resource
        offered = [name for name in RESOURCES[resource] if name not in unavailable]
        found = [each for each in await served.current() if resource != GLOSSARY or _has_glossaries(each)]
        return SafeJSONResponse([_present_for_resource(each, offered) for each in found])

    @router.get(
        f"{NEXT_ROOT}/languages/resources",
        **openapi.describe_route(
            "List the resources", "The resources", list[LanguageResource], request=openapi.request_of()
        ),
    )
    async def language_resources(connection: Request) -> SafeJSONResponse:
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
