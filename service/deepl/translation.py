"""Texts in, translations out."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.accounts.callers import Caller
from service.accounts.keys import Scope
from service.deepl.answers import DeepLRoute
from service.deepl.describing import TRANSLATE_BY_URL, TRANSLATE_IN_BODY
from service.deepl.entrance import enter
from service.deepl.languages import are_variants, base_of
from service.deepl.wishes import Wishes, read_wishes
from service.desk.desk import Desk, TextsRefusedError
from service.desk.order import UNDETERMINED, Answer, Order
from service.front.connection import while_connected
from service.front.door import Door
from service.front.errors import FieldProblem, SafeJSONResponse, invalid_input
from service.front.readiness import require_ready


def translation_routes(desk: Desk, door: Door) -> APIRouter:
    """POST, and GET for the oldest clients."""
    router = APIRouter(route_class=DeepLRoute)

    async def translate(connection: Request) -> Response:
        require_ready(desk.inference)
        caller, fields = await enter(connection, door, Scope.TRANSLATE)
        wishes = read_wishes(fields)
        try:
            answers = await while_connected(connection, _translate(desk, wishes.order, caller))
        except TextsRefusedError as error:
            problems = [
                FieldProblem(field=_name(item, wishes.order), problem=problem)
                for item, problem in error.problems
            ]
            raise invalid_input(problems, total=len(problems)) from error
        return SafeJSONResponse({"translations": present(answers, wishes)})

    @router.post("/translate", summary="Translate texts", openapi_extra=TRANSLATE_IN_BODY)
    async def translate_posted(connection: Request) -> Response:
        """Each text on its own, in their order; if any cannot be translated, the request fails."""
        return await translate(connection)

    @router.get("/translate", summary="Translate texts in the URL", openapi_extra=TRANSLATE_BY_URL)
    async def translate_got(connection: Request) -> Response:
        """As the POST."""
        return await translate(connection)

    return router


async def _translate(desk: Desk, order: Order, caller: Caller) -> list[Answer]:
    if are_variants(order.source, order.target, desk.inference.router.routes):
        return await desk.leave_unchanged(order, caller)
    return await desk.translate(order, caller)


def present(answers: Sequence[Answer], wishes: Wishes) -> list[dict[str, Any]]:
    """Answers as DeepL's clients read them."""
    return [_present(answer, text, wishes) for answer, text in zip(answers, wishes.order.texts, strict=True)]


def _present(answer: Answer, text: str, wishes: Wishes) -> dict[str, Any]:
    # A text of no language, as one of digits, is one of the target language as well.
    source = answer.target if answer.source == UNDETERMINED else answer.source
    presented: dict[str, Any] = {"detected_source_language": base_of(source), "text": answer.text}
    if wishes.shows_billed_characters:
        presented["billed_characters"] = len(text)
    if wishes.model_type_used is not None:
        presented["model_type_used"] = wishes.model_type_used
    if wishes.tag_handling_version is not None:
        presented["tag_handling_version"] = wishes.tag_handling_version
    return presented


def _name(item: int, order: Order) -> str:
    return "text" if len(order.texts) == 1 else f"text[{item}]"
