"""Routes that translate, and that tell whether they can."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from email.message import Message
from typing import Any, TypeVar

from fastapi import APIRouter, Depends, Request

from dragoman import InputError
from service.desk.inference import Inference, Wanted
from service.front.errors import (
    RETRY_AFTER,
    ApiError,
    ClientGoneError,
    ErrorKind,
    FieldProblem,
    document_errors,
    invalid_input,
)
from service.front.limits import TextLimits
from service.native.schemas import Status, TranslateRequest, TranslateResponse, present_translations

Result = TypeVar("Result")


def translation_routes(inference: Inference, limits: TextLimits) -> APIRouter:
    """Texts in, translations out."""
    router = APIRouter(prefix="/v1", tags=["translation"])

    @router.post(
        "/translate",
        summary="Translate one text or many",
        response_description="The translations, in the order of the texts",
        response_model_exclude_unset=True,
        dependencies=[Depends(_require_json)],
        responses=document_errors(
            {
                ErrorKind.MALFORMED: "The body is not JSON",
                ErrorKind.TOO_LARGE: "The body, the number of texts or their characters pass a limit",
                ErrorKind.UNSUPPORTED_MEDIA_TYPE: "The body is not declared as JSON",
                ErrorKind.INVALID_INPUT: "A field is unknown, ill-typed or out of range, the pair is not "
                "served, or texts cannot be translated; every such text is named",
                ErrorKind.INTERNAL: "The server failed, or a model cannot be opened",
                ErrorKind.OVERLOADED: "Too much is waiting already, other models in use leave no room for "
                "this one, or the server is still starting (`not_ready`); `Retry-After` says when to "
                "come back",
                ErrorKind.TIMEOUT: "The texts were not translated within the server's time limit",
            }
        ),
    )
    async def translate(request: TranslateRequest, connection: Request) -> TranslateResponse:
        """Each text is translated on its own; if any cannot be, the request fails and names all such."""
        _require_ready(inference)
        texts, options = request.texts(), request.options()
        limits.check(texts)
        wanted = Wanted(request.source, request.target, request.model)
        route, outcomes = await _while_connected(connection, inference.translate(texts, options, wanted))
        problems = [
            FieldProblem(field=request.field_of(item), problem=outcome.problem)
            for item, outcome in enumerate(outcomes)
            if isinstance(outcome, InputError)
        ]
        if problems:
            raise invalid_input(problems, total=len(problems))
        translations = (outcome for outcome in outcomes if not isinstance(outcome, InputError))
        return present_translations(route, translations, options.num_hypotheses)

    return router


def health_routes(inference: Inference) -> APIRouter:
    """How the server is."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz", summary="Whether the process is alive", response_description="It is")
    async def healthz() -> Status:
        """Answers while a model is loaded or busy; says nothing about it."""
        return Status(status="alive")

    @router.get(
        "/readyz",
        summary="Whether the server can translate",
        response_description="Every model that is loaded at the start has translated a warm-up sentence",
        responses=document_errors({ErrorKind.NOT_READY: "One has not yet translated it"}),
    )
    async def readyz() -> Status:
        """For load balancers: send requests only while this is 200."""
        _require_ready(inference)
        return Status(status="ready")

    return router


async def _while_connected(connection: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Await work for a client, and give it up when the client has gone.

    Raises:
        ClientGoneError: nobody waits for an answer any more.
    """
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_disconnected(connection))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGoneError
        return working.result()
    finally:
        for task in (working, leaving):
            if not task.done():
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task


async def _disconnected(connection: Request) -> None:
    while (await connection.receive())["type"] != "http.disconnect":
        pass


def _require_json(request: Request) -> None:
    header = Message()
    header["Content-Type"] = request.headers.get("content-type", "")
    if header.get_content_type() != "application/json":
        raise ApiError(
            ErrorKind.UNSUPPORTED_MEDIA_TYPE, "send JSON, with the header Content-Type: application/json"
        )


def _require_ready(inference: Inference) -> None:
    if not inference.is_ready:
        raise ApiError(
            ErrorKind.NOT_READY,
            "the server has not translated its warm-up sentences yet; try again",
            headers=RETRY_AFTER,
        )
