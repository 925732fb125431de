"""Routes that translate texts and detect their languages."""

from collections.abc import Mapping

from fastapi import APIRouter, Request
from starlette.responses import Response

from service.accounts.keys import Scope
from service.api.libretranslate.errors import check_detection, enter, rejected_texts_error, required
from service.api.libretranslate.languages import CatalogueCache
from service.api.libretranslate.requests import check_limits, normalize_line_ends, read_parameters
from service.api.libretranslate.responses import (
    DetectedLanguage,
    TranslateOut,
    present_detected,
    present_results,
    present_unchanged,
)
from service.api.libretranslate.schemas import FORMS, WITH_ANY_KEY, DetectIn, TranslateIn, errors_of
from service.http.disconnection import cancel_on_disconnect
from service.http.errors import SafeJSONResponse
from service.http.openapi import request_of
from service.readiness import require_ready
from service.services import Services
from service.translation.detection import detect, detectable
from service.translation.translation_service import TextsRejectedError

MAX_DETECTED_LANGUAGES = 3
"""Maximum number of languages in the response for a text."""


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
        summary="Translate one text or several",
        dependencies=WITH_ANY_KEY,
        response_model=TranslateOut,
        response_description="The translations",
        responses=errors_of(),
        openapi_extra=request_of(TranslateIn, FORMS),
    )
    async def translate(request: Request) -> Response:
        """Translate a text or an array of texts. Fields may be in JSON, in a form or in the URL's query."""
        require_ready(translation_service.inference)
        caller, fields = await enter(authenticator, request, Scope.TRANSLATE)
        parameters = read_parameters(fields, await catalogues.current(), translation_service.limits)
        if parameters.pair.is_copied:
            return SafeJSONResponse(present_unchanged(parameters), headers=headers)
        try:
            results = await cancel_on_disconnect(
                request, translation_service.translate(parameters.translation_request(), caller)
            )
        except TextsRejectedError as error:
            raise rejected_texts_error(error, is_list=parameters.is_list) from error
        return SafeJSONResponse(present_results(results, parameters), headers=headers)

    @routes.post(
        "/detect",
        summary="Detect the language of a text",
        dependencies=WITH_ANY_KEY,
        response_model=list[DetectedLanguage],
        response_description="Up to three languages, the most likely first",
        responses=errors_of(),
        openapi_extra=request_of(DetectIn, FORMS),
    )
    async def detect_language(request: Request) -> Response:
        """Detect which served language a text is in. Fields may be in JSON, a form or the URL's query."""
        _, fields = await enter(authenticator, request, Scope.TRANSLATE)
        check_detection(translation_service.detection)
        text = required(fields, "q")
        text = text if fields.is_json("q") else normalize_line_ends(text)
        check_limits([text], translation_service.limits)
        catalogue = await catalogues.current()
        detected = await translation_service.inference.run_in_thread(
            lambda: detect(text, detectable(catalogue.served)), len(text)
        )
        return SafeJSONResponse(
            [present_detected(each) for each in detected[:MAX_DETECTED_LANGUAGES]], headers=headers
        )

    return routes
