"""Routes that analyse texts: scores of given translations, and language detection."""

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
"""Names of a pair's texts; in an error without a position, the same names mean languages."""
OF_MODELS = frozenset({ErrorKind.NO_ROOM, ErrorKind.NOT_READY, ErrorKind.TIMEOUT})
"""Errors that only a route with a model can return."""
OF_DETECTION = {kind: reason for kind, reason in REASONS.items() if kind not in OF_MODELS} | {
    ErrorKind.INVALID_INPUT: "A field is unknown or ill-typed, or languages are not detected here",
    ErrorKind.INTERNAL: "The server failed",
}


def analysis_routes(translation_service: TranslationService, authenticator: Authenticator) -> APIRouter:
    """Return the routes that analyse texts."""
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
        """Score each given target as one segment by forced decoding; nothing is searched for."""
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
        """Return the served languages that a text may be in. No model runs, but characters are charged."""
        found = await cancel_on_disconnect(
            connection, translation_service.detect(request.texts(), connection.caller)
        )
        return DetectResponse(detections=[[present_detected(one) for one in each] for each in found])

    return router
