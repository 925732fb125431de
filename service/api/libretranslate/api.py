"""Definition of LibreTranslate's API: its routes for texts, CORS headers and specification."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from dragoman.routing.routes import Routes
from dragoman.types import Pair as LanguagePair
from service.accounts.keys import Scope
from service.api.catalogue import CatalogueCache, catalogue
from service.api.languages import RoutesCache
from service.api.libretranslate import errors, responses, schemas
from service.api.libretranslate.errors import PATHS, TRANSLATE_FILE, error_form, rejected
from service.api.libretranslate.files import add_file_routes
from service.api.libretranslate.requests import find_pair, read_texts, translation_request
from service.api.libretranslate.responses import errors_of
from service.api.readiness import require_ready
from service.api.rejected_texts import name_rejected_texts
from service.api.services import ApiDefinition, Services
from service.http.api_router import ApiRouter
from service.http.errors import ErrorKind, SafeJSONResponse
from service.http.openapi import MODEL_ERRORS, describe_route, operation_ids, request_of
from service.memories.errors import MemoryInvalid
from service.memories.pairs import SegmentPair
from service.translation.detection import NOTHING, detect, detectable
from service.translation.request import AUTO, UNDETERMINED, DetectedSource, TranslationResult
from service.versions import installed_version
from service.work.threads import run_in_thread

MAX_LANGUAGES = 3
"""Maximum number of languages reported for one text."""
MIN_CHARACTERS_OF_SEVERAL = 20
"""Length from which more than one language of a text is reported."""
MIN_CONFIDENCE = 0.1
"""Minimum confidence of all languages of a text but the most likely."""


def detect_together(texts: Sequence[str], among: Sequence[str]) -> list[DetectedSource]:
    """Return the languages of texts as one list, the most likely first.

    A language's confidence is the average over the texts that may be in it, and longer texts count for more
    in the order. `und` alone if no text has a language.
    """
    found: dict[str, list[tuple[float, int]]] = {}
    for text in texts:
        for likely in _likely_languages(text, among):
            found.setdefault(likely.language, []).append((likely.confidence, len(text)))
    weighed = [
        (sum(confidences) / len(confidences), sum(sizes), language)
        for language, of_language in found.items()
        for confidences, sizes in [tuple(zip(*of_language, strict=True))]
    ]
    weighed.sort(key=lambda one: one[0] * one[1], reverse=True)
    return [DetectedSource(language, confidence) for confidence, _, language in weighed] or [NOTHING]


def detect_source(text: str, target: str, routes: Routes) -> str:
    """Return the language of a text among those that are translated into the target.

    Raises:
        ApiError: it cannot be detected.
    """
    found = detect(text, detectable(routes.sources_of(target, None)))[0].language
    if found == UNDETERMINED:
        raise rejected("the language of q cannot be detected; name it as source")
    return found


def _likely_languages(text: str, among: Sequence[str]) -> list[DetectedSource]:
    best, *others = detect(text, among)
    if best.language == UNDETERMINED:
        return []
    if len(text) < MIN_CHARACTERS_OF_SEVERAL:
        return [best]
    return [best, *(other for other in others if other.confidence >= MIN_CONFIDENCE)][:MAX_LANGUAGES]


CORS: Mapping[str, str] = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, X-API-Key",
}


def libretranslate_api(services: Services) -> ApiDefinition:
    """Return LibreTranslate's API, on LibreTranslate's own paths.

    Any web page may call it from a browser, as its clients expect, unless the settings name the origins.
    """
    headers: Mapping[str, str] = {} if services.settings.cors_origins else CORS
    catalogues = RoutesCache(services.translation_service.inference, catalogue)
    routes = ApiRouter(tags=["libretranslate"], generate_unique_id_function=operation_ids("libretranslate"))
    for add in (add_text_routes, add_file_routes, add_server_routes):
        add(routes, services, catalogues, headers)
    _add_specification(routes, headers)
    _add_preflights(routes, headers)
    return ApiDefinition(routes, error_form(headers), frozenset({TRANSLATE_FILE}))


def _add_specification(routes: APIRouter, headers: Mapping[str, str]) -> None:
    known: dict[str, Any] = {}

    @routes.get(
        "/spec",
        **describe_route(
            "Return this API's OpenAPI document",
            "The document",
            dict[str, Any],
            errors_of([ErrorKind.INTERNAL]),
        ),
    )
    async def specification() -> Response:
        """Return the specification of these routes alone; `/openapi.json` has all routes of the server."""
        if not known:
            described = get_openapi(
                title="LibreTranslate's API", version=installed_version("dragoman"), routes=routes.routes
            )
            known.update(described)
        return SafeJSONResponse(known, headers=headers)


def _add_preflights(routes: APIRouter, headers: Mapping[str, str]) -> None:
    """Add routes for the preflight requests that browsers send before JSON to another origin."""

    async def preflight() -> Response:
        return Response(headers=dict(headers))

    for path in PATHS:
        routes.add_api_route(path, preflight, methods=["OPTIONS"], include_in_schema=False)


def add_text_routes(
    routes: APIRouter, services: Services, catalogues: CatalogueCache, headers: Mapping[str, str]
) -> None:
    """Add the routes that translate texts and detect their languages.

    Args:
        routes: gets the routes.
        services: the services that all APIs share.
        catalogues: the languages of the current routes.
        headers: headers of every response.
    """
    translation_service, authenticator = services.translation_service, services.authenticator

    @routes.post(
        "/translate",
        dependencies=responses.WITH_ANY_KEY,
        **describe_route(
            "Translate one text or several",
            "The translations",
            responses.TranslateOut,
            responses.errors_of(),
            request_of(schemas.LibreTranslateRequest, responses.FORMS),
        ),
    )
    async def translate(request: Request) -> Response:
        """Translate a text or an array of texts. Fields may be in JSON, in a form or in the URL's query."""
        require_ready(translation_service.inference)
        caller, fields = await errors.enter(authenticator, request, Scope.TRANSLATE)
        sent = fields.read(schemas.LibreTranslateRequest)
        texts = read_texts(fields, sent.q, translation_service.limits)
        pair = find_pair(sent.source, sent.target, await catalogues.current())
        if pair.is_copied:
            results = [TranslationResult(text, source="", target="") for text in texts]
        else:
            with name_rejected_texts(lambda item: f"q[{item}]" if isinstance(sent.q, list) else "q"):
                results = await translation_service.translate(translation_request(sent, texts, pair), caller)
        return SafeJSONResponse(responses.present_results(results, sent), headers=headers)

    @routes.post(
        "/detect",
        dependencies=responses.WITH_ANY_KEY,
        **describe_route(
            "Detect the language of a text or of several",
            "The likely languages, the most likely first: of all texts together, and up to three of one",
            list[responses.DetectedLanguage],
            responses.errors_of(),
            request_of(schemas.LibreDetectRequest, responses.FORMS),
        ),
    )
    async def detect_language(request: Request) -> Response:
        """Detect which served languages texts are in. Fields may be in JSON, a form or the URL's query."""
        _, fields = await errors.enter(authenticator, request, Scope.TRANSLATE)
        errors.check_detection(translation_service.detection)
        texts = read_texts(fields, fields.read(schemas.LibreDetectRequest).q, translation_service.limits)
        catalogue = await catalogues.current()
        detected = await translation_service.inference.run_in_thread(
            lambda: detect_together(texts, detectable(catalogue.served)), sum(map(len, texts))
        )
        return SafeJSONResponse(list(map(responses.present_detected, detected)), headers=headers)


def add_server_routes(
    routes: APIRouter, services: Services, catalogues: CatalogueCache, headers: Mapping[str, str]
) -> None:
    """Add the routes that clients use before they translate; arguments are those of `add_text_routes`."""

    @routes.get(
        "/languages",
        **describe_route(
            "List the languages",
            "The languages, sorted by name",
            list[responses.ListedLanguage],
            responses.errors_of([ErrorKind.INTERNAL]),
        ),
    )
    async def languages() -> Response:
        """Return each language with its target languages. This needs no API key, and ignores a body."""
        catalogue = await catalogues.current()
        return SafeJSONResponse(responses.present_languages(catalogue.listed), headers=headers)

    @routes.get(
        "/frontend/settings",
        **describe_route(
            "Return settings for a web page",
            "The settings",
            responses.FrontendSettings,
            responses.errors_of([ErrorKind.INTERNAL]),
        ),
    )
    async def frontend_settings() -> Response:
        """Return limits and available features. This needs no API key."""
        catalogue = await catalogues.current()
        takes_files = services.documents is not None
        settings = responses.present_settings(services.settings, catalogue, accepts_files=takes_files)
        return SafeJSONResponse(settings.model_dump(), headers=headers)

    @routes.get(
        "/health",
        **describe_route(
            "Whether the server can translate",
            "It can",
            responses.Health,
            responses.errors_of((ErrorKind.INTERNAL, ErrorKind.NOT_READY)),
        ),
    )
    async def health() -> Response:
        """Return 200 once every model that is loaded at the start has translated a warm-up sentence."""
        require_ready(services.translation_service.inference)
        return SafeJSONResponse({"status": "ok"}, headers=headers)

    @routes.post(
        "/suggest",
        dependencies=responses.WITH_ANY_KEY,
        **describe_route(
            "Suggest a better translation",
            "The suggestion is stored",
            responses.SuggestionStored,
            responses.errors_of([kind for kind in MODEL_ERRORS if kind is not ErrorKind.TIMEOUT]),
            request_of(schemas.SuggestIn, responses.FORMS),
        ),
    )
    async def suggest(request: Request) -> Response:
        """Store a correction in the caller's own translation memory; 403 unless the operator allows it."""
        caller, fields = await errors.enter(services.authenticator, request, Scope.TRANSLATE)
        if services.settings.suggestions == "off":
            raise errors.disabled_error("Suggestions are disabled")
        sent = fields.read(schemas.SuggestIn)
        catalogue = await catalogues.current()
        pair = find_pair(sent.source, sent.target, catalogue)
        if pair.source == AUTO:
            errors.check_detection(services.translation_service.detection)
        suggested = SegmentPair(sent.q, sent.s)

        def store() -> None:
            source = (
                pair.source if pair.source != AUTO else detect_source(sent.q, pair.target, catalogue.routes)
            )
            services.memories.store.suggest(caller.key_id, LanguagePair(source, pair.target), suggested)

        try:
            await run_in_thread(store)
        except MemoryInvalid as error:
            raise errors.rejected(error.problem) from error
        return SafeJSONResponse({"success": True}, headers=headers)
