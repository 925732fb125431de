"""Parts of the OpenAPI document about keys and errors, in Dragoman's own form."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastapi import Security
from fastapi.params import Depends
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer

from service.http.errors import STATUSES, ErrorBody, ErrorKind, ErrorResponse, FieldProblem

JSON = "application/json"
EVENTS = "text/event-stream"
RETRY_AFTER: Mapping[str, Any] = {
    "description": "Seconds after which to come back; not with `quota_exceeded`, which no waiting of seconds "
    "helps.",
    "schema": {"type": "integer", "minimum": 1},
    "example": 2,
}
CHALLENGE: Mapping[str, Any] = {
    "description": "How a key is sent.",
    "schema": {"type": "string"},
    "example": "Bearer",
}
HEADERS: Mapping[int, Mapping[str, Any]] = {
    401: {"WWW-Authenticate": CHALLENGE},
    429: {"Retry-After": RETRY_AFTER},
    503: {"Retry-After": RETRY_AFTER},
}
"""Headers of error responses, by status."""

REASONS: Mapping[ErrorKind, str] = {
    ErrorKind.MALFORMED: "The body is not JSON",
    ErrorKind.UNAUTHENTICATED: "There is no API key, and the server wants one; or there is none like it",
    ErrorKind.FORBIDDEN: "The API key is not for this",
    ErrorKind.CLIENT_TIMEOUT: "The body did not come in time",
    ErrorKind.TOO_LARGE: "The body, the number of texts or their characters pass a limit",
    ErrorKind.UNSUPPORTED_MEDIA_TYPE: "The body is not declared as JSON",
    ErrorKind.INVALID_INPUT: "A field is unknown, ill-typed or out of range, the pair is not served, or "
    "texts cannot be translated; every such text is named",
    ErrorKind.RATE_LIMITED: "Too many requests came; `Retry-After` says when to come back",
    ErrorKind.QUOTA_EXCEEDED: "The API key's characters of this month are used up",
    ErrorKind.OVERLOADED: "Too much is waiting already; `Retry-After` says when to come back",
    ErrorKind.INTERNAL: "The server failed, or a model cannot be opened",
    ErrorKind.NO_ROOM: "Other models in use leave no room for this one; `Retry-After` says when to come back",
    ErrorKind.STORE_UNAVAILABLE: "The API key cannot be looked up at the moment",
    ErrorKind.NOT_READY: "The server is starting or stopping",
    ErrorKind.TIMEOUT: "The texts were not translated within the server's time limit",
}
_TEXT_PROBLEM = FieldProblem(
    field="text[3]",
    problem="lone surrogate U+D800 at character 7 (counted from 0); send well-formed Unicode",
)
EXAMPLES: Mapping[ErrorKind, tuple[str, Sequence[FieldProblem]]] = {
    ErrorKind.MALFORMED: ("the body is not JSON: Expecting value at character 9", ()),
    ErrorKind.UNAUTHENTICATED: ("a key is required; ask the server's operator for one", ()),
    ErrorKind.FORBIDDEN: (
        "the key has no scope `translate`; ask the server's operator for one that has it",
        (),
    ),
    ErrorKind.CLIENT_TIMEOUT: ("the body did not come within 30 s; send it at once", ()),
    ErrorKind.NOT_FOUND: ("there is no such job; it never was, was deleted, or its time is over", ()),
    ErrorKind.CONFLICT: ("the job is running; ask again when it has ended", ()),
    ErrorKind.RANGE_NOT_SATISFIABLE: ("the file has 1337 bytes; ask for some of these", ()),
    ErrorKind.TOO_LARGE: (
        "text: 1200 texts; a request may carry 1000, so send them in several",
        (
            FieldProblem(
                field="text", problem="1200 texts; a request may carry 1000, so send them in several"
            ),
        ),
    ),
    ErrorKind.UNSUPPORTED_MEDIA_TYPE: ("send JSON, with the header Content-Type: application/json", ()),
    ErrorKind.INVALID_INPUT: (f"{_TEXT_PROBLEM.field}: {_TEXT_PROBLEM.problem}", (_TEXT_PROBLEM,)),
    ErrorKind.RATE_LIMITED: ("more than 20 per 1 minute; try again in 12 s", ()),
    ErrorKind.QUOTA_EXCEEDED: (
        "1200 characters are asked for, and 499500 of 500000 are used in 2026-11 (UTC); send less, or wait \
for the next month",
        (),
    ),
    ErrorKind.OVERLOADED: (
        "4096 segments wait and at most 4096 may (large requests three quarters of them, one caller half), \
so 3 more do not fit; try again later",
        (),
    ),
    ErrorKind.INTERNAL: ("the server failed; its log says where", ()),
    ErrorKind.NO_ROOM: (
        "model de-en takes about 120000000 bytes of memory, and those in use leave no room for it in the \
budget of 200000000; try again later",
        (),
    ),
    ErrorKind.STORE_UNAVAILABLE: ("keys and quotas cannot be looked up at the moment; try again later", ()),
    ErrorKind.NOT_READY: ("the server has not translated its warm-up sentences yet; try again", ()),
    ErrorKind.TIMEOUT: (
        "the translation was not done within 60 s; allow more time or send less text",
        (),
    ),
}
"""Message and fields of an example of each kind."""

BEARER = HTTPBearer(
    scheme_name="Bearer",
    description="`Authorization: Bearer KEY`, where the server wants a key, which `dragoman keys create` "
    "makes.",
    auto_error=False,
)
KEY = APIKeyHeader(
    name="X-API-Key", scheme_name="Key", description="The same key in a header of its own.", auto_error=False
)
WITH_KEY: Sequence[Depends] = (Security(BEARER), Security(KEY))
"""`dependencies` of a route that accepts keys. They only serve the document: `Authenticator` reads keys."""
WITHOUT_KEY: Mapping[str, Any] = {"security": [{}]}
"""`openapi_extra` of a route that accepts keys, and needs none on servers that require none."""


def operation_ids(api: str) -> Callable[[APIRoute], str]:
    """Return a function that names an API's routes for generated clients: API, then name of the route."""
    return lambda route: f"{api}_{route.name}"


def error_responses(kinds: Mapping[ErrorKind, str]) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of the errors that a route may respond with.

    Args:
        kinds: reason for each kind of error.
    """
    by_status: dict[int, dict[ErrorKind, str]] = {}
    for kind, reason in kinds.items():
        by_status.setdefault(STATUSES[kind], {})[kind] = reason
    return {status: {"model": ErrorResponse, **_failure(status, of)} for status, of in by_status.items()}


def error_example(kind: ErrorKind) -> dict[str, Any]:
    """Return an example body of this kind."""
    message, fields = EXAMPLES[kind]
    body = ErrorBody(type=kind, message=message, fields=list(fields))
    return ErrorResponse(error=body).model_dump(mode="json")


def _failure(status: int, reasons: Mapping[ErrorKind, str]) -> dict[str, Any]:
    described = (f"`{kind.value}`: {reason}" for kind, reason in reasons.items())
    documented: dict[str, Any] = {
        "description": ". ".join(described),
        "content": {
            JSON: {
                "examples": {
                    kind.value: {"summary": reason, "value": error_example(kind)}
                    for kind, reason in reasons.items()
                }
            }
        },
    }
    if status in HEADERS:
        documented["headers"] = dict(HEADERS[status])
    return documented
