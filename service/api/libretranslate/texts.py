"""Routes that translate texts and detect their languages."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import Response

from dragoman.types import Pair as LanguagePair
from service.accounts.keys import Scope
from service.api.catalogue import CatalogueCache
from service.api.libretranslate import errors, responses, schemas
from service.api.libretranslate.detection import detect_source, detect_together
from service.api.libretranslate.requests import (
    find_pair,
    read_texts,
    translation_request,
)
from service.api.readiness import require_ready
from service.api.rejected_texts import name_rejected_texts
from service.api.services import Services
from service.http.errors import ErrorKind, SafeJSONResponse
from service.http.openapi import MODEL_ERRORS, describe_route, request_of
from service.memories.errors import MemoryInvalid
from service.memories.pairs import SegmentPair
from service.translation.detection import detectable
from service.translation.request import AUTO, TranslationResult
from service.work.threads import run_in_thread


def text_routes(services: Services, catalogues: CatalogueCache, headers: Mapping[str, str]) -> APIRouter:
    """Return the routes that translate texts and detect their languages.

    Args:
        services: the services that all APIs share.
        catalogues: the languages of the current routes.
        headers: headers of every response.
    """
    routes = APIRouter()
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

    return routes


def server_routes(services: Services, catalogues: CatalogueCache, headers: Mapping[str, str]) -> APIRouter:
    """Return the routes that clients use before they translate; arguments are those of `text_routes`."""
    routes = APIRouter()

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
            services.memories.suggest(caller, LanguagePair(source, pair.target), suggested)

        try:
            await run_in_thread(store)
        except MemoryInvalid as error:
            raise errors.rejected(error.problem) from error
        return SafeJSONResponse({"success": True}, headers=headers)

    return routes
