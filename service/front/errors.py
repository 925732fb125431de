"""Every failure a client sees: one exception, one table of statuses, one JSON form."""

import json
import logging
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman import BundleError, DeadlineExceeded, DragomanError, InputError, Overloaded, ProviderError
from dragoman.errors import NoRoom

MAX_LISTED_PROBLEMS = 100
MAX_SHOWN_NAME = 80
RETRY_AFTER: Mapping[str, str] = {"Retry-After": "2"}
CLIENT_GONE = 499
"""A status for the log alone, as nginx has it."""

logger = logging.getLogger(__name__)


class ErrorKind(StrEnum):
    """What went wrong, in a word a program can compare."""

    MALFORMED = "malformed_request"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    INVALID_INPUT = "invalid_input"
    INTERNAL = "internal"
    OVERLOADED = "overloaded"
    NOT_READY = "not_ready"
    TIMEOUT = "timeout"


STATUSES: Mapping[ErrorKind, int] = {
    ErrorKind.MALFORMED: 400,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.METHOD_NOT_ALLOWED: 405,
    ErrorKind.TOO_LARGE: 413,
    ErrorKind.UNSUPPORTED_MEDIA_TYPE: 415,
    ErrorKind.INVALID_INPUT: 422,
    ErrorKind.INTERNAL: 500,
    ErrorKind.OVERLOADED: 503,
    ErrorKind.NOT_READY: 503,
    ErrorKind.TIMEOUT: 504,
}


class FieldProblem(BaseModel):
    """One field of the request that cannot be used."""

    field: str = Field(
        description="The field's name; an item of a list by its position from 0, as in `text[3]`."
    )
    problem: str = Field(description="What is wrong, the limit if there is one, and what to do.")


class ErrorBody(BaseModel):
    """What went wrong."""

    type: ErrorKind = Field(description="The kind of error, for programs.")
    message: str = Field(description="The error in a sentence, for people.")
    fields: list[FieldProblem] = Field(description="The fields at fault; empty when it is none of them.")


class ErrorResponse(BaseModel):
    """The form of every error."""

    error: ErrorBody


@dataclass(eq=False)
class ApiError(Exception):
    """A request that is answered with an error."""

    kind: ErrorKind
    message: str
    fields: Sequence[FieldProblem] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


class ClientGoneError(Exception):
    """The client closed its connection before it was answered."""


class SafeJSONResponse(JSONResponse):
    """JSON in UTF-8; a lone surrogate, which UTF-8 has no bytes for, becomes the JSON escape it came as."""

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", errors="backslashreplace")


def error_response(error: ApiError) -> SafeJSONResponse:
    """The answer to a request that failed."""
    body = ErrorResponse(error=ErrorBody(type=error.kind, message=error.message, fields=list(error.fields)))
    return SafeJSONResponse(body.model_dump(mode="json"), STATUSES[error.kind], dict(error.headers))


def invalid_input(
    problems: Iterable[FieldProblem], total: int, kind: ErrorKind = ErrorKind.INVALID_INPUT
) -> ApiError:
    """All `total` fields at fault in one error; beyond `MAX_LISTED_PROBLEMS` the message says so."""
    listed = list(islice(problems, MAX_LISTED_PROBLEMS))
    only = f"{listed[0].field}: {listed[0].problem}"
    message = only if total == 1 else f"{total} fields cannot be used"
    if len(listed) < total:
        message += f"; the first {len(listed)} are listed"
    return ApiError(kind, message, listed)


def document_errors(reasons: Mapping[ErrorKind, str]) -> dict[int | str, dict[str, Any]]:
    """What a route says of the errors that it may answer with."""
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


def install_error_handlers(app: FastAPI) -> None:
    """Give every error raised while a request is handled its one form."""
    for kind in (
        ApiError,
        InputError,
        Overloaded,
        NoRoom,
        DeadlineExceeded,
        BundleError,
        ProviderError,
        RequestValidationError,
        HTTPException,
    ):
        app.add_exception_handler(kind, _answer)
    app.add_exception_handler(ClientGoneError, _answer_nobody)


async def _answer(_request: Request, error: Exception) -> SafeJSONResponse:
    return error_response(_as_api_error(error))


async def _answer_nobody(_request: Request, _error: Exception) -> Response:
    return Response(status_code=CLIENT_GONE)


def _as_api_error(error: Exception) -> ApiError:
    match error:
        case ApiError():
            return error
        case DragomanError():
            return _from_engine(error)
        case RequestValidationError():
            return _from_validation(error)
        case HTTPException():
            return _from_http(error)
        case _:
            raise error


def _from_engine(error: DragomanError) -> ApiError:
    match error:
        case InputError():
            return invalid_input([FieldProblem(field=error.field, problem=error.problem)], total=1)
        case Overloaded() | NoRoom():
            return ApiError(ErrorKind.OVERLOADED, str(error), headers=RETRY_AFTER)
        case DeadlineExceeded():
            return ApiError(ErrorKind.TIMEOUT, str(error))
        case BundleError() | ProviderError():
            logger.error("a model cannot be opened: %s", error)
            return ApiError(ErrorKind.INTERNAL, "the model cannot be opened; the server's log says why")
        case _:
            raise error


def _from_validation(error: RequestValidationError) -> ApiError:
    problems = error.errors()
    if any(problem["type"] == "json_invalid" for problem in problems):
        reason = problems[0]["ctx"]["error"]
        return ApiError(
            ErrorKind.MALFORMED, f"the body is not JSON: {reason} at character {problems[0]['loc'][-1]}"
        )
    return invalid_input(
        (FieldProblem(field=_field_name(problem["loc"]), problem=problem["msg"]) for problem in problems),
        total=len(problems),
    )


def _field_name(location: Sequence[str | int]) -> str:
    """`("body", "text", "several", 3)` is `text[3]`; names below the field's own are branches of its type."""
    _source, *path = location
    if not path:
        return "body"
    name, positions = str(path[0]), [part for part in path[1:] if isinstance(part, int)]
    if len(name) > MAX_SHOWN_NAME:
        name = f"{name[:MAX_SHOWN_NAME]}… ({len(name)} characters)"
    return name + "".join(f"[{position}]" for position in positions)


def _from_http(error: HTTPException) -> ApiError:
    kinds = {status: kind for kind, status in STATUSES.items()}
    fallback = ErrorKind.MALFORMED if error.status_code < STATUSES[ErrorKind.INTERNAL] else ErrorKind.INTERNAL
    kind = kinds.get(error.status_code, fallback)
    return ApiError(kind, error.detail, headers=error.headers or {})


class UnexpectedErrors:
    """ASGI middleware: what nothing else caught becomes a 500 that tells the client nothing more.

    The log gets the traceback without the exceptions' messages, since these may quote a client's text.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def note_start(message: Message) -> None:
            nonlocal has_started
            has_started = has_started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, note_start)
        except Exception as error:
            logger.error("request failed\n%s", "".join(_traceback_without_messages(error)))  # noqa: TRY400 -- the message stays out
            if scope["type"] != "http" or has_started:
                raise
            answer = error_response(ApiError(ErrorKind.INTERNAL, "the server failed; its log says where"))
            await answer(scope, receive, send)


def _traceback_without_messages(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield from traceback.format_tb(error.__traceback__)
        yield f"{type(error).__module__}.{type(error).__qualname__}\n"
        error = error.__cause__ or error.__context__
        if error is not None:
            yield "which came from\n"
