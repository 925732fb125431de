"""Routes that translate texts."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.accounts.callers import Caller
from service.accounts.keys import Scope
from service.api.deepl.authentication import enter
from service.api.deepl.languages import are_variants, base_code
from service.api.deepl.parameters import DeepLParameters, read_parameters
from service.api.deepl.responses import DeepLRoute
from service.api.deepl.schemas import TranslateIn, Translations, errors_of
from service.http.authentication import Authenticator
from service.http.disconnection import cancel_on_disconnect
from service.http.errors import ErrorKind, FieldProblem, SafeJSONResponse, invalid_input
from service.http.openapi import FORM, JSON, query_parameters, request_of
from service.readiness import require_ready
from service.translation.request import UNDETERMINED, TranslationRequest, TranslationResult
from service.translation.translation_service import TextsRejectedError, TranslationService


def translation_routes(translation_service: TranslationService, authenticator: Authenticator) -> APIRouter:
    """Return the routes: POST, and GET for the oldest clients."""
    router = APIRouter(route_class=DeepLRoute)
    errors = errors_of(ErrorKind.QUOTA_EXCEEDED, ErrorKind.NO_ROOM, ErrorKind.TIMEOUT)

    async def translate(connection: Request) -> Response:
        require_ready(translation_service.inference)
        caller, fields = await enter(connection, authenticator, Scope.TRANSLATE)
        parameters = read_parameters(fields)
        try:
            results = await cancel_on_disconnect(
                connection, _translate(translation_service, parameters.translation_request, caller)
            )
        except TextsRejectedError as error:
            problems = [
                FieldProblem(field=_field_name(position, parameters.translation_request), problem=problem)
                for position, problem in error.problems
            ]
            raise invalid_input(problems, total=len(problems)) from error
        return SafeJSONResponse({"translations": present(results, parameters)})

    @router.post(
        "/translate",
        summary="Translate texts",
        response_model=Translations,
        response_description="The translations",
        responses=errors,
        openapi_extra=request_of(TranslateIn, [JSON, FORM]),
    )
    async def translate_posted(connection: Request) -> Response:
        """Translate each text on its own, in order; if any cannot be translated, the request fails."""
        return await translate(connection)

    @router.get(
        "/translate",
        summary="Translate texts in the URL",
        response_model=Translations,
        response_description="The translations",
        responses=errors,
        openapi_extra=request_of(parameters=query_parameters(TranslateIn)),
    )
    async def translate_got(connection: Request) -> Response:
        """Translate as the POST does."""
        return await translate(connection)

    return router


async def _translate(
    translation_service: TranslationService, translation_request: TranslationRequest, caller: Caller
) -> list[TranslationResult]:
    if are_variants(
        translation_request.source, translation_request.target, translation_service.inference.router.routes
    ):
        return await translation_service.leave_unchanged(translation_request, caller)
    return await translation_service.translate(translation_request, caller)


def present(results: Sequence[TranslationResult], parameters: DeepLParameters) -> list[dict[str, Any]]:
    """Return results in DeepL's form."""
    return [
        _present(result, text, parameters)
        for result, text in zip(results, parameters.translation_request.texts, strict=True)
    ]


def _present(result: TranslationResult, text: str, parameters: DeepLParameters) -> dict[str, Any]:
    # A text without a language, such as digits, is in the target language as well.
    source = result.target if result.source == UNDETERMINED else result.source
    presented: dict[str, Any] = {"detected_source_language": base_code(source), "text": result.text}
    if parameters.shows_billed_characters:
        presented["billed_characters"] = len(text)
    if parameters.model_type_used is not None:
        presented["model_type_used"] = parameters.model_type_used
    if parameters.tag_handling_version is not None:
        presented["tag_handling_version"] = parameters.tag_handling_version
    return presented


def _field_name(position: int, translation_request: TranslationRequest) -> str:
    return "text" if len(translation_request.texts) == 1 else f"text[{position}]"
