"""Routes about texts that do not translate them: scores of given translations, and languages."""

from fastapi import APIRouter

from dragoman import InputError
from service.accounts.keys import Scope
from service.desk.desk import Desk
from service.front.connection import while_connected
from service.front.documentation import REASONS, WITH_KEY, WITHOUT_KEY, failures
from service.front.door import Door
from service.front.errors import ErrorKind, FieldProblem, invalid_input
from service.front.json_route import AuthenticatedRequest, json_route_for
from service.front.readiness import require_ready
from service.native.examples import LANGUAGES_DETECTED, SCORED, shown
from service.native.requests import DetectRequest, ScoreRequest
from service.native.responses import DetectResponse, ScoreResponse, present_detected, present_scores

PAIR_FIELDS = frozenset({"source", "target"})
"""Of a pair's texts; the same names mean languages where there is no position."""
OF_MODELS = frozenset({ErrorKind.NO_ROOM, ErrorKind.NOT_READY, ErrorKind.TIMEOUT})
"""Errors that only come where a model is asked."""
OF_DETECTION = {kind: reason for kind, reason in REASONS.items() if kind not in OF_MODELS} | {
    ErrorKind.INVALID_INPUT: "A field is unknown or ill-typed, or languages are not detected here",
    ErrorKind.INTERNAL: "The server failed",
}


def reading_routes(desk: Desk, door: Door) -> APIRouter:
    """Texts in, what they are out."""
    route_class = json_route_for(door, Scope.TRANSLATE)
    router = APIRouter(prefix="/v1", tags=["reading"], dependencies=WITH_KEY, route_class=route_class)

    @router.post(
        "/score",
        operation_id="score",
        summary="Tell how probable a model finds given translations",
        response_description="Scores, token by token, in the order of the pairs",
        responses={**shown(SCORED), **failures(REASONS)},
        openapi_extra=dict(WITHOUT_KEY),
    )
    async def score(request: ScoreRequest, connection: AuthenticatedRequest) -> ScoreResponse:
        """Nothing is searched for: the model reads each target as it is given, as one segment."""
        require_ready(desk.inference)
        route = desk.inference.router.route(request.source, request.target, request.model)
        try:
            scored = await while_connected(connection, desk.score(request.texts(), route, connection.caller))
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
        responses={**shown(LANGUAGES_DETECTED), **failures(OF_DETECTION)},
        openapi_extra=dict(WITHOUT_KEY),
    )
    async def detect(request: DetectRequest, connection: AuthenticatedRequest) -> DetectResponse:
        """Among the languages that are served. No model is asked; characters are charged all the same."""
        found = await while_connected(connection, desk.detect(request.texts(), connection.caller))
        return DetectResponse(detections=[[present_detected(one) for one in each] for each in found])

    return router
