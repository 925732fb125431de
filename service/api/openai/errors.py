"""Errors in OpenAI's form."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from service.http.errors import ApiError, ErrorForm, ErrorKind
from service.http.errors import FieldProblem as Problem

ROOT = "/openai/v1"
CHAT_PATH = "/chat/completions"
OPENAI_STATUSES: Mapping[ErrorKind, int] = {ErrorKind.INVALID_INPUT: 400}
"""Statuses that differ from Dragoman's."""


class OpenAIErrorCodes(NamedTuple):
    """Codes that programs compare in an error."""

    type: str
    code: str | None


INVALID_REQUEST, SERVER_ERROR = "invalid_request_error", "server_error"
WORDS: Mapping[ErrorKind, OpenAIErrorCodes] = {
    ErrorKind.MALFORMED: OpenAIErrorCodes(INVALID_REQUEST, None),
    ErrorKind.INVALID_INPUT: OpenAIErrorCodes(INVALID_REQUEST, "invalid_value"),
    ErrorKind.UNAUTHENTICATED: OpenAIErrorCodes(INVALID_REQUEST, "invalid_api_key"),
    ErrorKind.FORBIDDEN: OpenAIErrorCodes(INVALID_REQUEST, "insufficient_permissions"),
    ErrorKind.NOT_FOUND: OpenAIErrorCodes(INVALID_REQUEST, "not_found"),
    ErrorKind.TOO_LARGE: OpenAIErrorCodes(INVALID_REQUEST, "request_too_large"),
    ErrorKind.RATE_LIMITED: OpenAIErrorCodes("requests", "rate_limit_exceeded"),
    ErrorKind.QUOTA_EXCEEDED: OpenAIErrorCodes("insufficient_quota", "insufficient_quota"),
    ErrorKind.OVERLOADED: OpenAIErrorCodes(SERVER_ERROR, "overloaded"),
    ErrorKind.INTERNAL: OpenAIErrorCodes(SERVER_ERROR, None),
    ErrorKind.NO_ROOM: OpenAIErrorCodes(SERVER_ERROR, "overloaded"),
    ErrorKind.STORE_UNAVAILABLE: OpenAIErrorCodes(SERVER_ERROR, "unavailable"),
    ErrorKind.NOT_READY: OpenAIErrorCodes(SERVER_ERROR, "unavailable"),
    ErrorKind.TIMEOUT: OpenAIErrorCodes(SERVER_ERROR, "timeout"),
}
OTHER = OpenAIErrorCodes(INVALID_REQUEST, None)


@dataclass(eq=False)
class OpenAIError(ApiError):
    """An error with a code of its own."""

    code: str | None = None


def rejected(parameter: str, problem: str, code: str, kind: ErrorKind = ErrorKind.INVALID_INPUT) -> ApiError:
    """Return the error about one parameter."""
    fields = [Problem(field=parameter, problem=problem)]
    return OpenAIError(kind, f"{parameter}: {problem}", fields, code=code)


def error_body(error: ApiError) -> dict[str, object]:
    """Return the body of an error's response."""
    words = WORDS.get(error.kind, OTHER)
    named = "; ".join(f"{each.field}: {each.problem}" for each in error.fields)
    return {
        "error": {
            "message": named or error.message,
            "type": words.type,
            "param": error.fields[0].field if error.fields else None,
            "code": error.code if isinstance(error, OpenAIError) else words.code,
        }
    }


FORM = ErrorForm(("/openai", "/v1/chat"), error_body, OPENAI_STATUSES)
