"""The route that translates texts."""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter

from service.accounts.keys import Scope
from service.api.native.requests import TranslateRequest
from service.api.native.responses import TranslateResponse, present_results
from service.http.authentication import Authenticator
from service.http.disconnection import cancel_on_disconnect
from service.http.errors import FieldProblem, invalid_input
from service.http.json_route import AuthenticatedRequest, json_route_for
from service.http.openapi import MODEL_ERRORS, WITH_KEY, WITHOUT_KEY, error_responses
from service.readiness import require_ready
from service.translation.translation_service import TextsRejectedError, TranslationService


def translation_routes(translation_service: TranslationService, authenticator: Authenticator) -> APIRouter:
    """Return the route that translates texts."""
    route_class = json_route_for(authenticator, Scope.TRANSLATE)
    router = APIRouter(prefix="/v1", tags=["translation"], route_class=route_class)

    @router.post(
        "/translate",
        operation_id="translate",
        summary="Translate one text or many",
        response_description="The translations, in the order of the texts",
        response_model_exclude_unset=True,
        dependencies=WITH_KEY,
        responses=error_responses(MODEL_ERRORS),
        openapi_extra=dict(WITHOUT_KEY),
    )
    async def translate(request: TranslateRequest, connection: AuthenticatedRequest) -> TranslateResponse:
        """Translate each text on its own; if any cannot be translated, the request fails and names all such.

        The same request, sent again while it is in progress, shares its work. If the client disconnects, its
        texts are cancelled.
        """
        require_ready(translation_service.inference)
        translation_request = request.translation_request()
        with name_rejected_texts(request):
            results = await cancel_on_disconnect(
                connection, translation_service.translate(translation_request, connection.caller)
            )
        return present_results(results, translation_request.options)

    return router


@contextmanager
def name_rejected_texts(request: TranslateRequest) -> Iterator[None]:
    """Convert an error about texts to one that names them as in the client's request."""
    try:
        yield
    except TextsRejectedError as error:
        fields = [
            FieldProblem(field=request.field_name(item), problem=problem) for item, problem in error.problems
        ]
        raise invalid_input(fields, total=len(fields)) from error
