"""Routes about texts that do not translate them: scores of given translations, and languages."""

from fastapi import APIRouter

from dragoman import InputError
from service.accounts.keys import Scope
from service.api.native.examples import LANGUAGES_DETECTED, SCORED, shown
from service.api.native.requests import DetectRequest, ScoreRequest
from service.api.native.responses import DetectResponse, ScoreResponse, present_detected, present_scores
from service.http.authentication import Authenticator
from service.http.disconnection import cancel_on_disconnect
from service.http.errors import ErrorKind, FieldProblem, invalid_input
from service.http.json_route import AuthenticatedRequest, json_route_for
from service.http.openapi_parts import REASONS, WITH_KEY, WITHOUT_KEY, error_responses
from service.readiness import require_ready
from service.translation.translation_service import TranslationService

PAIR_FIELDS = frozenset({"source", "target"})
"""Of a pair's texts; the same names mean languages where there is no position."""
OF_MODELS = frozenset({ErrorKind.NO_ROOM, ErrorKind.NOT_READY, ErrorKind.TIMEOUT})
"""Errors that only come where a model is asked."""
OF_DETECTION = {kind: reason for kind, reason in REASONS.items() if kind not in OF_MODELS} | {
    ErrorKind.INVALID_INPUT: "A field is unknown or ill-typed, or languages are not detected here",
    ErrorKind.INTERNAL: "The server failed",
}


def analysis_routes(translation_service: TranslationService, authenticator: Authenticator) -> APIRouter:
    """Texts in, what they are out."""
    route_class = json_route_for(authenticator, Scope.TRANSLATE)
    router = APIRouter(prefix="/v1", tags=["reading"], dependencies=WITH_KEY, route_class=route_class)

    @router.post(
        "/score",
        operation_id="score",
        summary="Tell how probable a model finds given translations",
        response_description="Scores, token by token, in the order of the pairs",
        responses={**shown(SCORED), **error_responses(REASONS)},
        openapi_extra=dict(WITHOUT_KEY),
    )
    async def score(request: ScoreRequest, connection: AuthenticatedRequest) -> ScoreResponse:
        """Nothing is searched for: the model reads each target as it is given, as one segment."""
        require_ready(translation_service.inference)
        route = translation_service.inference.router.route(request.source, request.target, request.model)
        try:
            scored = await cancel_on_disconnect(
                connection, translation_service.score(request.texts(), route, connection.caller)
            )
        except InputError as error:
            if error.item is None or error.field not in PAIR_FIELDS:
                raise
            problem = FieldProblem(field=f"pairs[{error.item}].{error.field}", problem=error.problem)
            raise invalid_input([problem], total=1) from error
        return present_scores(route.steps[0].offer.title, scored)

    @router.post(
        "/detect",
        operation_id="detect",
        summary="Tell which language texts are in",
        response_description="Languages, the most likely first, in the order of the texts",
        responses={**shown(LANGUAGES_DETECTED), **error_responses(OF_DETECTION)},
        openapi_extra=dict(WITHOUT_KEY),
    )
    async def detect(request: DetectRequest, connection: AuthenticatedRequest) -> DetectResponse:
        """Among the languages that are served. No model is asked; characters are charged all the same."""
        found = await cancel_on_disconnect(
            connection, translation_service.detect(request.texts(), connection.caller)
        )
        return DetectResponse(detections=[[present_detected(one) for one in each] for each in found])

    return router
