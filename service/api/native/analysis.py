"""Routes that analyse texts: scores of given translations, and language detection."""

from fastapi import APIRouter

from dragoman import InputError
from service.accounts.keys import Scope
from service.api.native.requests import DetectRequest, ScoreRequest
from service.api.native.responses import DetectResponse, ScoreResponse, present_detected, present_scores
from service.http.errors import field_error
from service.http.json_route import AuthenticatedRequest, json_route_for
from service.http.openapi import MODEL_ERRORS, TEXT_ERRORS, WITH_KEY, WITHOUT_KEY, error_responses
from service.http.threads import cancel_on_disconnect
from service.readiness import require_ready
from service.services import Services

PAIR_FIELDS = frozenset({"source", "target"})
"""Names of a pair's texts; in an error without a position, the same names mean languages."""


def analysis_routes(services: Services) -> APIRouter:
    """Return the routes that analyse texts."""
    translation_service = services.translation_service
    route_class = json_route_for(services.authenticator, Scope.TRANSLATE)
    router = APIRouter(tags=["analysis"], dependencies=WITH_KEY, route_class=route_class)

    @router.post(
        "/score",
        summary="Score given translations",
        response_description="Scores, token by token, in the order of the pairs",
        responses=error_responses(MODEL_ERRORS),
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
            raise field_error(f"pairs[{error.item}].{error.field}", error.problem) from error
        return present_scores(route.steps[0].offer.title, scored)

    @router.post(
        "/detect",
        summary="Detect the language of texts",
        response_description="Languages, the most likely first, in the order of the texts",
        responses=error_responses(TEXT_ERRORS),
        openapi_extra=dict(WITHOUT_KEY),
    )
    async def detect(request: DetectRequest, connection: AuthenticatedRequest) -> DetectResponse:
        """Return the served languages that a text may be in. No model runs, but characters are charged."""
        detected = await cancel_on_disconnect(
            connection, translation_service.detect(request.texts(), connection.caller)
        )
        return DetectResponse(detections=[[present_detected(one) for one in each] for each in detected])

    return router
