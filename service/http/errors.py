"""Errors that clients see: one exception, one table of statuses, one JSON form."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman import BundleError, DeadlineExceeded, DragomanError, InputError, Overloaded, ProviderError
from dragoman.errors import MemoryBudgetExceeded
from service.accounts.errors import (
    AccountsError,
    GlossaryInvalid,
    KeyRejected,
    QuotaExceeded,
    RateLimited,
    ScopeMissing,
    StoreError,
    TooManyGlossaries,
    UnknownGlossary,
)
from service.telemetry.logs import traceback_without_messages

MAX_LISTED_PROBLEMS = 100
MAX_SHOWN_NAME_CHARACTERS = 80
RETRY_AFTER: Mapping[str, str] = {"Retry-After": "2"}
CLIENT_GONE = 499
"""Status for logs and metrics only, as in nginx."""

SERVER_FAILED = "the server failed; its log says where"

logger = logging.getLogger(__name__)


class ErrorKind(StrEnum):
    """What went wrong, in a word a program can compare."""

    MALFORMED = "malformed_request"
    UNAUTHENTICATED = "unauthenticated"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    CLIENT_TIMEOUT = "client_timeout"
    CONFLICT = "conflict"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    INVALID_INPUT = "invalid_input"
    RATE_LIMITED = "rate_limited"
    QUOTA_EXCEEDED = "quota_exceeded"
    OVERLOADED = "overloaded"
    INTERNAL = "internal"
    NO_ROOM = "no_room"
    STORE_UNAVAILABLE = "store_unavailable"
    NOT_READY = "not_ready"
    TIMEOUT = "timeout"


STATUSES: Mapping[ErrorKind, int] = {
    ErrorKind.MALFORMED: 400,
    ErrorKind.UNAUTHENTICATED: 401,
    ErrorKind.FORBIDDEN: 403,
    ErrorKind.NOT_FOUND: 404,
    ErrorKind.METHOD_NOT_ALLOWED: 405,
    ErrorKind.CLIENT_TIMEOUT: 408,
    ErrorKind.CONFLICT: 409,
    ErrorKind.TOO_LARGE: 413,
    ErrorKind.UNSUPPORTED_MEDIA_TYPE: 415,
    ErrorKind.RANGE_NOT_SATISFIABLE: 416,
    ErrorKind.INVALID_INPUT: 422,
    ErrorKind.RATE_LIMITED: 429,
    ErrorKind.QUOTA_EXCEEDED: 429,
    ErrorKind.OVERLOADED: 429,
    ErrorKind.INTERNAL: 500,
    ErrorKind.NO_ROOM: 503,
    ErrorKind.STORE_UNAVAILABLE: 503,
    ErrorKind.NOT_READY: 503,
    ErrorKind.TIMEOUT: 504,
}


ACCOUNTS_ERRORS: Sequence[tuple[type[AccountsError], ErrorKind, Mapping[str, str]]] = (
    (ScopeMissing, ErrorKind.FORBIDDEN, {}),
    (KeyRejected, ErrorKind.UNAUTHENTICATED, {"WWW-Authenticate": "Bearer"}),
    (QuotaExceeded, ErrorKind.QUOTA_EXCEEDED, {}),
    (UnknownGlossary, ErrorKind.NOT_FOUND, {}),
    (TooManyGlossaries, ErrorKind.INVALID_INPUT, {}),
)
"""Kind and headers by class; the first match counts. Other classes depend on the error's content."""


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
    """An error to respond with."""

    kind: ErrorKind
    message: str
    fields: Sequence[FieldProblem] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


class ClientDisconnectedError(Exception):
    """The client closed its connection before the response."""


class SafeJSONResponse(JSONResponse):
    """JSON in UTF-8; a lone surrogate, which UTF-8 cannot encode, is sent as a JSON escape, as it came."""

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", errors="backslashreplace")


@dataclass(frozen=True, slots=True)
class ErrorForm:
    """The form of one API's errors."""

    owns: Callable[[str], bool]
    """Returns whether a path belongs to the API."""
    respond: Callable[[ApiError], Response]


@dataclass(frozen=True, slots=True)
class ErrorForms:
    """The forms of errors of all APIs; they also apply to errors before an API sees the request."""

    others: tuple[ErrorForm, ...] = ()
    """Forms of other APIs; Dragoman's own form applies to all other paths."""

    def respond(self, error: ApiError, path: str) -> Response:
        """Return the response to a request that failed."""
        for form in self.others:
            if form.owns(path):
                return form.respond(error)
        return error_response(error)


def error_response(error: ApiError) -> SafeJSONResponse:
    """Return a response in Dragoman's own form."""
    return SafeJSONResponse(error_body(error), STATUSES[error.kind], dict(error.headers))


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


def log_unexpected(error: Exception) -> None:
    """Log the traceback without the exceptions' messages, since these may quote a client's text."""
    logger.error("request failed\n%s", "".join(traceback_without_messages(error)))


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


def install_error_handlers(app: FastAPI, forms: ErrorForms) -> None:
    """Install handlers that respond to a request's errors in the form of its API."""

    async def answer(request: Request, error: Exception) -> Response:
        return forms.respond(to_api_error(error), request.url.path)

    for kind in (
        ApiError,
        InputError,
        Overloaded,
        MemoryBudgetExceeded,
        DeadlineExceeded,
        BundleError,
        ProviderError,
        AccountsError,
        RequestValidationError,
        HTTPException,
    ):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(ClientDisconnectedError, _respond_to_nobody)
    app.add_exception_handler(ClientDisconnect, _respond_to_nobody)


async def _respond_to_nobody(_request: Request, _error: Exception) -> Response:
    return Response(status_code=CLIENT_GONE)


def to_api_error(error: Exception) -> ApiError:
    """Convert an error to one for the client; raise an unexpected error again."""
    match error:
        case ApiError():
            return error
        case DragomanError():
            return _from_engine(error)
        case AccountsError():
            return _from_accounts(error)
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
        case Overloaded():
            return ApiError(ErrorKind.OVERLOADED, str(error), headers=RETRY_AFTER)
        case MemoryBudgetExceeded():
            return ApiError(ErrorKind.NO_ROOM, str(error), headers=RETRY_AFTER)
        case DeadlineExceeded():
            return ApiError(ErrorKind.TIMEOUT, str(error))
        case BundleError() | ProviderError():
            logger.error("cannot open a model: %s", error)
            return ApiError(ErrorKind.INTERNAL, "the model cannot be opened; the server's log says why")
        case _:
            raise error


def _from_accounts(error: AccountsError) -> ApiError:
    match error:
        case RateLimited():
            retry_after = {"Retry-After": str(error.retry_after_s)}
            return ApiError(ErrorKind.RATE_LIMITED, str(error), headers=retry_after)
        case GlossaryInvalid():
            return invalid_input([FieldProblem(field=error.field, problem=error.problem)], total=1)
        case StoreError():
            logger.error("the accounts database failed: %s", error)
            message = "keys and quotas cannot be looked up at the moment; try again later"
            return ApiError(ErrorKind.STORE_UNAVAILABLE, message, headers=RETRY_AFTER)
    for cause, kind, headers in ACCOUNTS_ERRORS:
        if isinstance(error, cause):
            return ApiError(kind, str(error), headers=headers)
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
    """Return `text[3]` for `("body", "text", "several", 3)`; later names are branches of a field's type."""
    _source, *path = location
    if not path:
        return "body"
    name, positions = str(path[0]), [part for part in path[1:] if isinstance(part, int)]
    if len(name) > MAX_SHOWN_NAME_CHARACTERS:
        name = f"{name[:MAX_SHOWN_NAME_CHARACTERS]}… ({len(name)} characters)"
    return name + "".join(f"[{position}]" for position in positions)


def _from_http(error: HTTPException) -> ApiError:
    kinds = {STATUSES[kind]: kind for kind in reversed(ErrorKind)}
    fallback = ErrorKind.MALFORMED if error.status_code < STATUSES[ErrorKind.INTERNAL] else ErrorKind.INTERNAL
    kind = kinds.get(error.status_code, fallback)
    return ApiError(kind, error.detail, headers=error.headers or {})


class UnexpectedErrors:
    """ASGI middleware that turns uncaught exceptions into a response 500 without details.

    The log gets the traceback without the exceptions' messages, since these may quote a client's text.
    """

    def __init__(self, app: ASGIApp, forms: ErrorForms) -> None:
        self.app = app
        self.forms = forms

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
