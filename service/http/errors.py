"""Errors that clients see: one exception, one table of statuses, one JSON form."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from fastapi import FastAPI, Request
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman import BundleError, DeadlineExceeded, InputError, KernelsError, Overloaded, ProviderError
from dragoman.errors import DragomanError, MemoryBudgetExceeded
from service.accounts.errors import RateLimited, StoreError
from service.errors import RETRY_AFTER as RETRY_AFTER  # noqa: PLC0414 -- used with the classes below
from service.errors import SERVER_FAILED, FieldInvalid, ServiceError
from service.errors import ErrorKind as ErrorKind  # noqa: PLC0414 -- as above
from service.telemetry.logs import log_unexpected

MAX_LISTED_PROBLEMS = 100
MAX_SHOWN_NAME_CHARACTERS = 80
CLIENT_GONE = 499
"""Status for logs and metrics only, as in nginx."""

logger = logging.getLogger(__name__)


ENGINE_ERRORS: Sequence[tuple[type[DragomanError], ErrorKind, Mapping[str, str]]] = (
    (Overloaded, ErrorKind.OVERLOADED, RETRY_AFTER),
    (MemoryBudgetExceeded, ErrorKind.NO_ROOM, RETRY_AFTER),
    (DeadlineExceeded, ErrorKind.TIMEOUT, {}),
)
"""Kind and headers by class. The error's text is the message."""


class FieldProblem(BaseModel):
    """One field of the request that cannot be used."""

    field: str = Field(
        description="The field's name; an item of a list by its position from 0, as in `text[3]`."
    )
    problem: str = Field(description="What is wrong, the limit if there is one, and what to do.")


class ErrorBody(BaseModel):
    """Description of an error."""

    type: ErrorKind = Field(description="The kind of error, for programs.")
    message: str = Field(description="The error in a sentence, for people.")
    fields: list[FieldProblem] = Field(description="The fields at fault; empty when it is none of them.")


class ErrorResponse(BaseModel):
    """The form of every error."""

    error: ErrorBody


@dataclass(eq=False)
class ApiError(Exception):
    """An error to respond with."""

    kind: ErrorKind
    message: str
    fields: Sequence[FieldProblem] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


class SafeJSONResponse(JSONResponse):
    """JSON in UTF-8; a lone surrogate, which UTF-8 cannot encode, is sent as a JSON escape, as it came."""

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", errors="backslashreplace")


@dataclass(frozen=True, slots=True)
class ErrorForm:
    """The form of one API's errors."""

    roots: tuple[str, ...]
    """Paths that belong to the API, with all paths below them."""
    body: Callable[[ApiError], Mapping[str, Any]]
    """Returns the body of an error."""
    statuses: Mapping[ErrorKind, int] = field(default_factory=dict)
    """Statuses that differ from Dragoman's."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of every error."""

    def owns(self, path: str) -> bool:
        return any(path == root or path.startswith(f"{root}/") for root in self.roots)

    def respond(self, error: ApiError) -> Response:
        """Return the response to a request that failed."""
        status = self.statuses.get(error.kind, error.kind.status)
        return SafeJSONResponse(self.body(error), status, {**self.headers, **error.headers})


@dataclass(frozen=True, slots=True)
class ErrorForms:
    """The forms of errors of all APIs; they also apply to errors before an API sees the request."""

    others: tuple[ErrorForm, ...] = ()
    """Forms of other APIs; Dragoman's own form applies to all other paths."""
    on_error: Callable[[ErrorKind], None] = lambda _: None
    """Called for each error."""

    def respond(self, error: ApiError, path: str) -> Response:
        """Return the response to a request that failed."""
        self.on_error(error.kind)
        for form in self.others:
            if form.owns(path):
                return form.respond(error)
        return error_response(error)


def error_response(error: ApiError) -> SafeJSONResponse:
    """Return a response in Dragoman's own form."""
    return SafeJSONResponse(error_body(error), error.kind.status, dict(error.headers))


def error_body(error: ApiError) -> dict[str, Any]:
    """Return the body of that response, before it is encoded as JSON."""
    body = ErrorBody(type=error.kind, message=error.message, fields=list(error.fields))
    return ErrorResponse(error=body).model_dump(mode="json")


def to_any_api_error(error: Exception) -> ApiError:
    """Convert as `to_api_error` does, for responses that have begun; log an unexpected error, and hide it."""
    try:
        return to_api_error(error)
    except Exception as unexpected:  # noqa: BLE001 -- the client must see no details
        log_unexpected(unexpected)
        return ApiError(ErrorKind.INTERNAL, SERVER_FAILED)


def invalid_input(
    problems: Iterable[FieldProblem], total: int, kind: ErrorKind = ErrorKind.INVALID_INPUT
) -> ApiError:
    """Return one error for `total` fields; beyond `MAX_LISTED_PROBLEMS` it says that it omits some."""
    listed = list(islice(problems, MAX_LISTED_PROBLEMS))
    only = f"{listed[0].field}: {listed[0].problem}"
    message = only if total == 1 else f"{total} fields are invalid"
    if len(listed) < total:
        message += f"; the first {len(listed)} are listed"
    return ApiError(kind, message, listed)


def field_error(name: str, problem: str, kind: ErrorKind = ErrorKind.INVALID_INPUT) -> ApiError:
    """Return an error about one field."""
    return invalid_input([FieldProblem(field=name, problem=problem)], total=1, kind=kind)


def install_error_handlers(app: FastAPI, forms: ErrorForms) -> None:
    """Install handlers that respond to a request's errors in the form of its API."""

    async def answer(request: Request, error: Exception) -> Response:
        return forms.respond(to_api_error(error), request.url.path)

    for kind in (ApiError, DragomanError, ServiceError, HTTPException):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(ClientDisconnect, _respond_to_nobody)


async def _respond_to_nobody(_request: Request, _error: Exception) -> Response:
    return Response(status_code=CLIENT_GONE)


def to_api_error(error: Exception) -> ApiError:
    """Convert an error to one for the client; raise an unexpected error again."""
    match error:
        case ApiError():
            return error
        case HTTPException():
            return _from_http(error)
        case InputError():
            return field_error(error.field, error.problem)
        case _:
            return _from_service(error)


def _from_service(error: Exception) -> ApiError:
    match error:
        case FieldInvalid(kind=ErrorKind() as kind):
            return field_error(error.field, error.problem, kind)
        case RateLimited():
            retry_after = {"Retry-After": str(error.retry_after_s)}
            return ApiError(ErrorKind.RATE_LIMITED, str(error), headers=retry_after)
        case StoreError():
            logger.error("the accounts database failed: %s", error)
            message = "keys and quotas cannot be looked up at the moment; try again later"
            return ApiError(ErrorKind.STORE_UNAVAILABLE, message, headers=RETRY_AFTER)
        case BundleError() | ProviderError() | KernelsError():
            logger.error("cannot open a model: %s", error)
            return ApiError(ErrorKind.INTERNAL, "the model cannot be opened; the server's log says why")
        case ServiceError(kind=ErrorKind() as kind):
            return ApiError(kind, str(error), headers=error.headers)
    for cause, kind, headers in ENGINE_ERRORS:
        if isinstance(error, cause):
            return ApiError(kind, str(error), headers=headers)
    raise error


def _from_http(error: HTTPException) -> ApiError:
    kinds = {kind.status: kind for kind in reversed(ErrorKind)}
    fallback = ErrorKind.MALFORMED if error.status_code < ErrorKind.INTERNAL.status else ErrorKind.INTERNAL
    kind = kinds.get(error.status_code, fallback)
    return ApiError(kind, error.detail, headers=error.headers or {})


@dataclass(slots=True, eq=False)
class UnexpectedErrors:
    """ASGI middleware that turns uncaught exceptions into a response 500 without details.

    The log gets the traceback without the exceptions' messages, since these may quote a client's text.
    """

    app: ASGIApp
    forms: ErrorForms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        has_started = False

        async def note_start(message: Message) -> None:
            nonlocal has_started
            has_started = has_started or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, note_start)
        except Exception as error:
            log_unexpected(error)
            if scope["type"] != "http" or has_started:
                raise
            failure = ApiError(ErrorKind.INTERNAL, SERVER_FAILED)
            await self.forms.respond(failure, scope["path"])(scope, receive, send)
