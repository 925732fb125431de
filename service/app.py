"""The HTTP application: routes, and what surrounds them."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from email.message import Message
from typing import Any, TypeVar

import anyio
from fastapi import APIRouter, Depends, FastAPI, Request

from dragoman import InputError, UnsupportedPair
from dragoman.bundle import Manifest
from service.errors import (
    RETRY_AFTER,
    STATUSES,
    ApiError,
    ClientGoneError,
    ErrorKind,
    ErrorResponse,
    FieldProblem,
    SafeJSONResponse,
    UnexpectedErrors,
    install_error_handlers,
    invalid_input,
)
from service.limits import BodyLimit, TextLimits
from service.readiness import Inference, TextTranslator
from service.schemas import (
    ModelsResponse,
    Status,
    TranslateRequest,
    TranslateResponse,
    present_model,
    present_translation,
)
from service.settings import Settings
from service.versions import installed_version

Result = TypeVar("Result")

DESCRIPTION = """Text in, text out. Every error has one form: a type for programs, a message for people,
and the fields at fault. The same text gives the same translation, whatever else the server is doing."""


def create_app(translator: TextTranslator, settings: Settings) -> FastAPI:
    """An application that serves one translator.

    It answers at once; `/readyz` and `/v1/translate` do so with 503 until a warm-up sentence was translated.
    """
    inference = Inference(translator, settings.request_timeout_s)

    @asynccontextmanager
    async def warm_up_beside(_app: FastAPI) -> AsyncIterator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(inference.warm_up)
            yield
            tasks.cancel_scope.cancel()

    app = FastAPI(
        title="Dragoman",
        summary="A self-hosted translation server",
        description=DESCRIPTION,
        version=installed_version("dragoman"),
        license_info={"name": "Apache-2.0", "identifier": "Apache-2.0"},
        default_response_class=SafeJSONResponse,
        redirect_slashes=False,
        redoc_url=None,
        lifespan=warm_up_beside,
    )
    install_error_handlers(app)
    app.add_middleware(BodyLimit, max_body_bytes=settings.max_body_bytes)
    app.add_middleware(UnexpectedErrors)
    app.include_router(_translation(inference, TextLimits(settings.max_texts, settings.max_characters)))
    app.include_router(_health(inference))
    return app


def _translation(inference: Inference, limits: TextLimits) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["translation"])

    @router.post(
        "/translate",
        summary="Translate one text or many",
        response_description="The translations, in the order of the texts",
        response_model_exclude_unset=True,
        dependencies=[Depends(_require_json)],
        responses=_errors(
            {
                ErrorKind.MALFORMED: "The body is not JSON",
                ErrorKind.TOO_LARGE: "The body, the number of texts or their characters pass a limit",
                ErrorKind.UNSUPPORTED_MEDIA_TYPE: "The body is not declared as JSON",
                ErrorKind.INVALID_INPUT: "A field is unknown, ill-typed or out of range, the pair is not "
                "served, or texts cannot be translated; every such text is named",
                ErrorKind.INTERNAL: "The server failed",
                ErrorKind.OVERLOADED: "Too much is waiting already, or the model is still being loaded "
                "(`not_ready`); `Retry-After` says when to come back",
                ErrorKind.TIMEOUT: "The texts were not translated within the server's time limit",
            }
        ),
    )
    async def translate(request: TranslateRequest, connection: Request) -> TranslateResponse:
        """Each text is translated on its own; if any cannot be, the request fails and names all such."""
        _require_ready(inference)
        _check_pair(request, inference.manifest)
        texts, options = request.texts(), request.options()
        limits.check(texts)
        outcomes = await _while_connected(connection, inference.translate(texts, options))
        problems = [
            FieldProblem(field=request.field_of(item), problem=outcome.problem)
            for item, outcome in enumerate(outcomes)
            if isinstance(outcome, InputError)
        ]
        if problems:
            raise invalid_input(problems, total=len(problems))
        return TranslateResponse(
            model=inference.manifest.name,
            translations=[
                present_translation(outcome, inference.manifest, options.num_hypotheses)
                for outcome in outcomes
                if not isinstance(outcome, InputError)
            ],
        )

    @router.get(
        "/models",
        summary="The models served",
        response_description="Each as its manifest describes it",
        responses=_errors({ErrorKind.INTERNAL: "The server failed"}),
    )
    async def models() -> ModelsResponse:
        """Languages, limits, measured quality and licence."""
        return ModelsResponse(models=[present_model(inference.manifest)])

    return router


def _health(inference: Inference) -> APIRouter:
    router = APIRouter(tags=["health"])

    @router.get("/healthz", summary="Whether the process is alive", response_description="It is")
    async def healthz() -> Status:
        """Answers while a model is loaded or busy; says nothing about it."""
        return Status(status="alive")

    @router.get(
        "/readyz",
        summary="Whether the model can translate",
        response_description="It has translated a warm-up sentence",
        responses=_errors({ErrorKind.NOT_READY: "It has not yet translated one"}),
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
            "the model has not translated its warm-up sentence yet; try again",
            headers=RETRY_AFTER,
        )


def _check_pair(request: TranslateRequest, manifest: Manifest) -> None:
    served = f"{manifest.source_language} -> {manifest.target_language}"
    wanted = {
        "source": (request.source, manifest.source_language),
        "target": (request.target, manifest.target_language),
    }
    for field, (asked, language) in wanted.items():
        if asked is not None and asked.casefold() != language.casefold():
            raise UnsupportedPair(field, f"this language is not served here; served: {served}")


def _errors(reasons: Mapping[ErrorKind, str]) -> dict[int | str, dict[str, Any]]:
    """Documentation of a route's error responses."""
    return {
        STATUSES[kind]: {
            "model": ErrorResponse,
            "description": reason,
            "content": {
                "application/json": {
                    "example": {"error": {"type": kind.value, "message": reason, "fields": []}}
                }
            },
        }
        for kind, reason in reasons.items()
    }
