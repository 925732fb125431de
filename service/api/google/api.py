"""Definition of Google's Cloud Translation API v2 for the application, and its routes."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from fastapi.security import APIKeyHeader, APIKeyQuery
from pydantic import BaseModel

from service.accounts.keys import Scope
from service.api.google import schemas
from service.api.google.errors import FORM, KEY_FIELD, ROOT, enter
from service.api.google.languages import google_code, list_languages, resolve
from service.api.languages import RoutesCache
from service.api.libretranslate.languages import Catalogue, CatalogueCache, catalogue
from service.api.readiness import require_ready
from service.api.rejected_texts import name_rejected_texts
from service.api.services import ApiDefinition, Services
from service.http.errors import ErrorKind, SafeJSONResponse, field_error
from service.http.fields import Fields
from service.http.openapi import FORM as FORM_TYPE
from service.http.openapi import JSON, WITH_KEY, operation_ids, query_parameters, request_of
from service.text.options import MarkupLanguage, MarkupOptions
from service.translation.request import AUTO, TranslationRequest, TranslationResult
from service.work.threads import run_in_thread

HTML, TEXT = "html", "text"
MODELS = ("nmt", "base")
SYSTEM_PARAMETERS = frozenset({KEY_FIELD, "alt", "prettyPrint", "quotaUser", "userIp"})
"""Parameters that all of Google's APIs accept and that change no response of this one."""
KEY_SCHEMES: Sequence[Any] = (
    Depends(
        APIKeyQuery(
            name=KEY_FIELD,
            scheme_name="GoogleQuery",
            description="The key as a field `key`, of the URL or of the body.",
            auto_error=False,
        )
    ),
    Depends(
        APIKeyHeader(
            name="X-Goog-Api-Key",
            scheme_name="Google",
            description="The same key in a header, as Google's own clients send it.",
            auto_error=False,
        )
    ),
    *WITH_KEY,
)
"""They only serve the OpenAPI document; `errors.enter` reads the keys."""


def google_api(services: Services) -> ApiDefinition:
    """Return Google's API: the paths under `/language/translate/v2`."""
    catalogues = RoutesCache(services.translation_service.inference, catalogue)
    routes = APIRouter(
        prefix=f"{ROOT}/v2",
        tags=["google"],
        responses=schemas.errors_of(),
        dependencies=KEY_SCHEMES,
        generate_unique_id_function=operation_ids("google"),
    )
    _add_translation(routes, services, catalogues)
    _add_detection(routes, services)
    _add_languages(routes, services, catalogues)
    return ApiDefinition(routes, FORM)


def _add_translation(routes: APIRouter, services: Services, catalogues: CatalogueCache) -> None:
    translation_service = services.translation_service
    documented: Mapping[str, Any] = {
        "response_model": schemas.TranslationsResponse,
        "response_description": "The translations, in the order of the texts",
    }

    @routes.get("/", include_in_schema=False)
    @routes.post("/", include_in_schema=False)
    @routes.get(
        "",
        name="translate_got",
        summary="Translate texts in the URL",
        openapi_extra=request_of(parameters=_in_query(schemas.GoogleTranslateRequest)),
        **documented,
    )
    @routes.post(
        "",
        name="translate_posted",
        summary="Translate texts",
        openapi_extra=request_of(schemas.GoogleTranslateRequest, [JSON, FORM_TYPE]),
        **documented,
    )
    async def translate(connection: Request) -> Response:
        """Translate each text on its own; if any cannot be translated, the request fails and names it."""
        require_ready(translation_service.inference)
        caller, fields = await enter(connection, services.authenticator, Scope.TRANSLATE)
        check_names(fields, schemas.GoogleTranslateRequest.model_fields)
        request = read_request(fields, await catalogues.current())
        model = _one_of(fields, "model", MODELS)
        is_list = fields.is_list("q")
        with name_rejected_texts(lambda item: f"q[{item}]" if is_list else "q"):
            results = await translation_service.translate(request, caller)
        return SafeJSONResponse({"data": {"translations": [_present(result, model) for result in results]}})


def _add_detection(routes: APIRouter, services: Services) -> None:
    documented: Mapping[str, Any] = {
        "response_model": schemas.DetectionsResponse,
        "response_description": "The most likely language of each text, in the order of the texts",
    }

    @routes.get(
        "/detect",
        name="detect_got",
        summary="Detect the languages of texts in the URL",
        openapi_extra=request_of(parameters=_in_query(schemas.GoogleDetectRequest)),
        **documented,
    )
    @routes.post(
        "/detect",
        name="detect_posted",
        summary="Detect the languages of texts",
        openapi_extra=request_of(schemas.GoogleDetectRequest, [JSON, FORM_TYPE]),
        **documented,
    )
    async def detect(connection: Request) -> Response:
        """Return which served language a text is in. No model runs, but characters are charged."""
        caller, fields = await enter(connection, services.authenticator, Scope.TRANSLATE)
        check_names(fields, schemas.GoogleDetectRequest.model_fields)
        texts = read_texts(fields)
        detected = await services.translation_service.detect(texts, caller)
        detections = [
            {
                "language": google_code(each[0].language),
                "confidence": each[0].confidence,
                "isReliable": False,
            }
            for each in detected
        ]
        return SafeJSONResponse({"data": {"detections": [[detection] for detection in detections]}})


def _add_languages(routes: APIRouter, services: Services, catalogues: CatalogueCache) -> None:
    documented: Mapping[str, Any] = {
        "summary": "List the languages",
        "response_model": schemas.GoogleLanguagesResponse,
        "response_description": "The languages, by code",
    }

    @routes.get(
        "/languages",
        openapi_extra=request_of(parameters=query_parameters(schemas.GoogleLanguagesQuery)),
        **documented,
    )
    @routes.post(
        "/languages",
        name="languages_posted",
        openapi_extra=request_of(schemas.GoogleLanguagesQuery, [JSON, FORM_TYPE]),
        **documented,
    )
    async def languages(connection: Request) -> Response:
        """Return every language that is a source or a target of a model."""
        _, fields = await enter(connection, services.authenticator, scope=None)
        check_names(fields, schemas.GoogleLanguagesQuery.model_fields)
        _one_of(fields, "model", MODELS)
        current, names_in = await catalogues.current(), fields.string("target") or None
        listed = await run_in_thread(lambda: list_languages(current, names_in))
        return SafeJSONResponse({"data": {"languages": listed}})


def check_names(fields: Fields, known: Mapping[str, Any]) -> None:
    """Reject unknown parameters, and those of Google's that would change the form of the response."""
    for name in fields.names():
        if name not in known and name not in SYSTEM_PARAMETERS:
            raise field_error(name[:80], f"is unknown or not supported; known are {', '.join(known)}")
    _one_of(fields, "alt", ("json",))


def read_request(fields: Fields, current: Catalogue) -> TranslationRequest:
    """Read the parameters of a translation; raise an ApiError if they cannot be used."""
    texts = read_texts(fields)
    target = fields.required("target", "name the language to translate into")
    source = fields.string("source") or None
    if fields.strings("cid"):
        raise field_error("cid", "customizations are not supported; send the request without ids")
    is_html = (_one_of(fields, "format", (HTML, TEXT)) or HTML) == HTML
    return TranslationRequest(
        texts,
        resolve(target, current),
        source if source is None or source.lower() == AUTO else resolve(source, current),
        markup=MarkupOptions(MarkupLanguage.HTML) if is_html else None,
    )


def read_texts(fields: Fields) -> tuple[str, ...]:
    """Return the texts; raise an ApiError if there are none or too many."""
    texts = fields.strings("q")
    if not texts:
        raise field_error("q", "is missing; send one text or more")
    if len(texts) > schemas.MAX_TEXTS:
        problem = f"{len(texts)} texts exceed the limit of {schemas.MAX_TEXTS} per request"
        raise field_error("q", f"{problem}; send several requests", ErrorKind.INVALID_INPUT)
    return texts


def _one_of(fields: Fields, name: str, allowed: Sequence[str]) -> str | None:
    value = fields.string(name)
    if value is not None and value not in allowed:
        raise field_error(name, f"must be one of {', '.join(allowed)}, or omitted")
    return value


def _present(result: TranslationResult, model: str | None) -> dict[str, str]:
    presented = {"translatedText": result.text}
    if result.detected is not None:
        presented["detectedSourceLanguage"] = google_code(result.detected.language)
    if model is not None:
        presented["model"] = model
    return presented


def _in_query(model: type[BaseModel]) -> list[dict[str, Any]]:
    """Return the fields of a body as parameters of the URL, but for the key, which is a security scheme."""
    return [each for each in query_parameters(model) if each["name"] != KEY_FIELD]
