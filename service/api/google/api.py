"""Definition of Google's Cloud Translation API v2 for the application, and its routes."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from fastapi import APIRouter, Request
from fastapi.security import APIKeyHeader, APIKeyQuery
from langcodes import Language
from langcodes.tag_parser import LanguageTagError

from service.accounts.keys import Scope
from service.api.catalogue import Catalogue, CatalogueCache, catalogue, present_code
from service.api.google import schemas
from service.api.google.errors import ERROR_FORM, KEY_FIELD, ROOT, enter
from service.api.languages import RoutesCache
from service.api.readiness import require_ready
from service.api.rejected_texts import name_rejected_texts
from service.api.services import ApiDefinition, Services
from service.http.api_router import ApiRouter
from service.http.errors import SafeJSONResponse, field_error
from service.http.fields import Fields
from service.http.openapi import WITH_KEY, describe_route, get_and_post, key_scheme, operation_ids
from service.http.validation import Model, listed
from service.text.options import MarkupLanguage, MarkupOptions
from service.translation.request import AUTO, DetectedSource, TranslationRequest, TranslationResult
from service.work.threads import run_in_thread

GOOGLE_CODES: Mapping[str, str] = {"zh-hans": "zh-CN", "zh-hant": "zh-TW"}
"""Codes that clients get for codes in lower case."""
FORMER_CODES: Mapping[str, str] = {"iw": "he", "jw": "jv", "in": "id", "ji": "yi"}
"""Codes that ISO 639 has replaced and that clients still send."""
MAX_LANGUAGES_OF_NAMES = 64


def google_code(code: str) -> str:
    """Return the code that clients get for a model's code."""
    presented = present_code(code)
    return GOOGLE_CODES.get(presented.lower(), presented)


def resolve(requested: str, catalogue: Catalogue) -> str:
    """Return the model's own code of a language; the requested one if none is served."""
    former = FORMER_CODES.get(requested.lower())
    return catalogue.resolve(requested) or (former and catalogue.resolve(former)) or requested


def list_languages(catalogue: Catalogue, names_in: str | None) -> list[dict[str, str]]:
    """Return all languages by code, with their names in a language unless that is None.

    Raises:
        ApiError: there is no such language to write names in.
    """
    codes = sorted({google_code(code) for code in catalogue.served})
    if names_in is None:
        return [{"language": code} for code in codes]
    names = _names(tuple(codes), _language(names_in))
    return [{"language": code, "name": name} for code, name in zip(codes, names, strict=True)]


def _language(requested: str) -> str:
    try:
        language = Language.get(requested[:MAX_TAG_LENGTH])
    except LanguageTagError:
        language = None
    if language is None or not language.is_valid() or len(requested) > MAX_TAG_LENGTH:
        raise field_error("target", "is not a language code; send one such as `en`")
    return str(language)


MAX_TAG_LENGTH = 35
"""Maximum characters of a language tag (RFC 5646, section 4.4.1)."""


@lru_cache(MAX_LANGUAGES_OF_NAMES)
def _names(codes: Sequence[str], names_in: str) -> list[str]:
    """Return the names of languages in a language; English ones where CLDR has none."""
    return [Language.get(code).display_name(names_in) for code in codes]


SYSTEM_PARAMETERS = (KEY_FIELD, "alt", "prettyPrint", "quotaUser", "userIp")
"""Parameters that all of Google's APIs accept and that change no response of this one."""
KEY_SCHEMES = (
    key_scheme(APIKeyQuery, KEY_FIELD, "GoogleQuery", "The key as a field `key`, of the URL or of the body."),
    key_scheme(
        APIKeyHeader, "X-Goog-Api-Key", "Google", "The same key in a header, as Google's own clients send it."
    ),
    *WITH_KEY,
)


def google_api(services: Services) -> ApiDefinition:
    """Return Google's API: the paths under `/language/translate/v2`."""
    catalogues = RoutesCache(services.translation_service.inference, catalogue)
    routes = ApiRouter(
        prefix=f"{ROOT}/v2",
        tags=["google"],
        responses=schemas.errors_of(),
        dependencies=KEY_SCHEMES,
        generate_unique_id_function=operation_ids("google"),
    )
    _add_translation(routes, services, catalogues)
    _add_detection(routes, services)
    _add_languages(routes, services, catalogues)
    return ApiDefinition(routes, ERROR_FORM)


def _add_translation(routes: APIRouter, services: Services, catalogues: CatalogueCache) -> None:
    translation_service = services.translation_service

    @get_and_post(
        routes,
        "",
        ("translate_got", "translate_posted"),
        schemas.GoogleTranslateRequest,
        describe_route(
            "Translate texts", "The translations, in the order of the texts", schemas.TranslationsResponse
        ),
    )
    async def translate(connection: Request) -> SafeJSONResponse:
        """Translate each text on its own; if any cannot be translated, the request fails and names it."""
        require_ready(translation_service.inference)
        caller, fields = await enter(connection, services.authenticator, Scope.TRANSLATE)
        sent = read(fields, schemas.GoogleTranslateRequest)
        request = read_request(sent, await catalogues.current())
        with name_rejected_texts(lambda item: f"q[{item}]" if isinstance(sent.q, list) else "q"):
            results = await translation_service.translate(request, caller)
        translations = [_present(result, sent.model) for result in results]
        return SafeJSONResponse({"data": {"translations": translations}})


def _add_detection(routes: APIRouter, services: Services) -> None:
    @get_and_post(
        routes,
        "/detect",
        ("detect_got", "detect_posted"),
        schemas.GoogleDetectRequest,
        describe_route(
            "Detect the languages of texts",
            "The most likely language of each text, in the order of the texts",
            schemas.DetectionsResponse,
        ),
    )
    async def detect(connection: Request) -> SafeJSONResponse:
        """Return which served language a text is in. No model runs, but characters are charged."""
        caller, fields = await enter(connection, services.authenticator, Scope.TRANSLATE)
        texts = read_texts(read(fields, schemas.GoogleDetectRequest).q)
        detected = await services.translation_service.detect(texts, caller)
        detections = [[_present_detected(likely[0])] for likely in detected]
        return SafeJSONResponse({"data": {"detections": detections}})


def _add_languages(routes: APIRouter, services: Services, catalogues: CatalogueCache) -> None:
    @get_and_post(
        routes,
        "/languages",
        ("languages", "languages_posted"),
        schemas.GoogleLanguagesQuery,
        describe_route("List the languages", "The languages, by code", schemas.GoogleLanguagesResponse),
    )
    async def languages(connection: Request) -> SafeJSONResponse:
        """Return every language that is a source or a target of a model."""
        _, fields = await enter(connection, services.authenticator, scope=None)
        current = await catalogues.current()
        names_in = read(fields, schemas.GoogleLanguagesQuery).target
        listed = await run_in_thread(lambda: list_languages(current, names_in))
        return SafeJSONResponse({"data": {"languages": listed}})


def read(fields: Fields, model: type[Model]) -> Model:
    """Return the fields as a model; reject parameters that would change the form of the response."""
    if fields.string("alt") not in {None, "json"}:
        raise field_error("alt", "must be json, or omitted")
    return fields.without(*SYSTEM_PARAMETERS).read(model)


def read_request(sent: schemas.GoogleTranslateRequest, current: Catalogue) -> TranslationRequest:
    """Return the request to translate; raise an ApiError if it cannot be used."""
    if sent.cid:
        raise field_error("cid", "customizations are not supported; send the request without ids")
    is_detected = sent.source is None or sent.source.lower() == AUTO
    return TranslationRequest(
        read_texts(sent.q),
        resolve(sent.target, current),
        sent.source if sent.source is None or is_detected else resolve(sent.source, current),
        markup=MarkupOptions(MarkupLanguage.HTML) if sent.format == "html" else None,
    )


def read_texts(sent: str | list[str]) -> tuple[str, ...]:
    """Return the texts; raise an ApiError if there are none or too many."""
    texts = tuple(listed(sent))
    if not texts:
        raise field_error("q", "is missing; send one text or more")
    if len(texts) > schemas.MAX_TEXTS:
        problem = f"{len(texts)} texts exceed the limit of {schemas.MAX_TEXTS} per request"
        raise field_error("q", f"{problem}; send several requests")
    return texts


def _present_detected(detected: DetectedSource) -> dict[str, Any]:
    language = google_code(detected.language)
    return {"language": language, "confidence": detected.confidence, "isReliable": False}


def _present(result: TranslationResult, model: str | None) -> dict[str, str]:
    presented = {"translatedText": result.text}
    if result.detected is not None:
        presented["detectedSourceLanguage"] = google_code(result.detected.language)
    if model is not None:
        presented["model"] = model
    return presented
