"""Routes that translate, and that tell whether they can."""

from collections.abc import Iterator
from contextlib import contextmanager
from email.message import Message

from fastapi import APIRouter, Depends, Request

from service.accounts.keys import Scope
from service.desk.desk import Desk, TextsRefusedError
from service.front.connection import while_connected
from service.front.door import Door, key_in_headers
from service.front.errors import (
    ApiError,
    ErrorKind,
    FieldProblem,
    document_errors,
    invalid_input,
)
from service.front.readiness import require_ready
from service.native.requests import TranslateRequest
from service.native.responses import TranslateResponse, present_answers

REASONS = {
    ErrorKind.MALFORMED: "The body is not JSON",
    ErrorKind.UNAUTHENTICATED: "There is no API key, and the server wants one; or there is none like it",
    ErrorKind.FORBIDDEN: "The API key is not for this",
    ErrorKind.TOO_LARGE: "The body, the number of texts or their characters pass a limit",
    ErrorKind.UNSUPPORTED_MEDIA_TYPE: "The body is not declared as JSON",
    ErrorKind.INVALID_INPUT: "A field is unknown, ill-typed or out of range, the pair is not "
    "served, or texts cannot be translated; every such text is named",
    ErrorKind.RATE_LIMITED: "Too many requests came; `Retry-After` says when to come back",
    ErrorKind.QUOTA_EXCEEDED: "The API key's characters of this month are used up",
    ErrorKind.OVERLOADED: "Too much is waiting already; `Retry-After` says when to come back",
    ErrorKind.INTERNAL: "The server failed, or a model cannot be opened",
    ErrorKind.NO_ROOM: "Other models in use leave no room for this one; `Retry-After` says when to come back",
    ErrorKind.NOT_READY: "The server is starting or stopping",
    ErrorKind.TIMEOUT: "The texts were not translated within the server's time limit",
}


def translation_routes(desk: Desk, door: Door) -> APIRouter:
    """Texts in, translations out."""
    router = APIRouter(prefix="/v1", tags=["translation"])

    @router.post(
        "/translate",
        summary="Translate one text or many",
        response_description="The translations, in the order of the texts",
        response_model_exclude_unset=True,
        dependencies=[Depends(require_json)],
        responses=document_errors(REASONS),
    )
    async def translate(request: TranslateRequest, connection: Request) -> TranslateResponse:
        """Each text is translated on its own; if any cannot be, the request fails and names all such."""
        require_ready(desk.inference)
        caller = await door.admit(connection, key_in_headers(connection), Scope.TRANSLATE)
        order = request.order()
        with naming_texts(request):
            answers = await while_connected(connection, desk.translate(order, caller))
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


def require_json(request: Request) -> None:
    """Refuse a body that is not declared as JSON."""
    header = Message()
    header["Content-Type"] = request.headers.get("content-type", "")
    if header.get_content_type() != "application/json":
        raise ApiError(
            ErrorKind.UNSUPPORTED_MEDIA_TYPE, "send JSON, with the header Content-Type: application/json"
        )
