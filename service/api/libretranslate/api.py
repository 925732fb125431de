"""Definition of LibreTranslate's API: its routes for texts, CORS headers and specification."""

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.openapi.utils import get_openapi
from starlette.responses import Response

from dragoman.types import Pair as LanguagePair
from service.accounts.keys import Scope
from service.api.catalogue import CatalogueCache, catalogue
from service.api.languages import RoutesCache
from service.api.libretranslate import errors, responses, schemas
from service.api.libretranslate.detection import detect_source, detect_together
from service.api.libretranslate.errors import PATHS, TRANSLATE_FILE, error_form
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
from service.translation.detection import detectable
from service.translation.request import AUTO, TranslationResult
from service.versions import installed_version
from service.work.threads import run_in_thread

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
