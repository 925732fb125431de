"""The route that translates texts."""

from fastapi import APIRouter

from service.accounts.keys import Scope
from service.api.native.requests import TranslateRequest
from service.api.native.responses import TranslateResponse, present_results
from service.glossaries.glossary_service import GlossaryService
from service.http.authentication import Authenticator
from service.http.errors import ErrorKind
from service.http.json_route import AuthenticatedRequest, json_route_for
from service.http.openapi import MODEL_ERRORS, WITH_KEY, WITHOUT_KEY, error_responses, operation_id
from service.http.threads import cancel_on_disconnect
from service.memories.memory_service import MemoryService
from service.readiness import require_ready
from service.translation.memory import apply_memory
from service.translation.translation_service import TranslationService, name_rejected_texts


def translation_routes(
    translation_service: TranslationService,
    authenticator: Authenticator,
    glossaries: GlossaryService,
    memories: MemoryService,
) -> APIRouter:
    """Return the route that translates texts."""
    route_class = json_route_for(authenticator, Scope.TRANSLATE)
    router = APIRouter(
        prefix="/v1", tags=["translation"], route_class=route_class, generate_unique_id_function=operation_id
    )

    @router.post(
        "/translate",
        summary="Translate one text or many",
        response_description="The translations, in the order of the texts",
        response_model_exclude_unset=True,
        dependencies=WITH_KEY,
        responses=error_responses([*MODEL_ERRORS, ErrorKind.NOT_FOUND]),
        openapi_extra=dict(WITHOUT_KEY),
    )
    async def translate(request: TranslateRequest, connection: AuthenticatedRequest) -> TranslateResponse:
        """Translate each text on its own; if any cannot be translated, the request fails and names all such.

        The same request, sent again while it is in progress, shares its work. If the client disconnects, its
        texts are cancelled.
        """
        require_ready(translation_service.inference)
        translation_request = await request.translation_request(glossaries, connection.caller)
        if (use := request.memory_use()) is not None:
            translation_request = await apply_memory(
                translation_request, use, connection.caller, memories, translation_service.limits
            )
        with name_rejected_texts(request.field_name):
            results = await cancel_on_disconnect(
                connection, translation_service.translate(translation_request, connection.caller)
            )
        return present_results(results, translation_request.options.decoding)

    return router
