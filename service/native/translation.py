"""Routes that translate, and that tell whether they can."""

from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import APIRouter

from service.accounts.keys import Scope
from service.desk.desk import Desk, TextsRefusedError
from service.front.connection import while_connected
from service.front.documentation import REASONS, WITH_KEY, WITHOUT_KEY, failures
from service.front.door import Door
from service.front.errors import FieldProblem, invalid_input
from service.front.json_route import AuthenticatedRequest, json_route_for
from service.front.readiness import require_ready
from service.native.examples import TRANSLATED, shown_as
from service.native.requests import TranslateRequest
from service.native.responses import TranslateResponse, present_answers


def translation_routes(desk: Desk, door: Door) -> APIRouter:
    """Texts in, translations out."""
    route_class = json_route_for(door, Scope.TRANSLATE)
    router = APIRouter(prefix="/v1", tags=["translation"], route_class=route_class)

    @router.post(
        "/translate",
        operation_id="translate",
        summary="Translate one text or many",
        response_description="The translations, in the order of the texts",
        response_model_exclude_unset=True,
        dependencies=WITH_KEY,
        responses={**shown_as(TRANSLATED), **failures(REASONS)},
        openapi_extra=dict(WITHOUT_KEY),
    )
    async def translate(request: TranslateRequest, connection: AuthenticatedRequest) -> TranslateResponse:
        """Each text is translated on its own; if any cannot be, the request fails and names all such.

        The same request, sent again while it is under way, shares its work. A client that leaves takes its
        texts with it.
        """
        require_ready(desk.inference)
        order = request.order()
        with naming_texts(request):
            answers = await while_connected(connection, desk.translate(order, connection.caller))
        return present_answers(answers, order.options)

    return router


@contextmanager
def naming_texts(request: TranslateRequest) -> Iterator[None]:
    """Texts at fault are named as the client would."""
    try:
        yield
    except TextsRefusedError as error:
        fields = [
            FieldProblem(field=request.field_of(item), problem=problem) for item, problem in error.problems
        ]
        raise invalid_input(fields, total=len(fields)) from error
