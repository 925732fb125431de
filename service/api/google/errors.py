"""Errors in the form of Google's API, and its ways to send a key."""

from collections.abc import Mapping
from typing import NamedTuple

from fastapi import Request

from service.accounts.errors import MissingKey, UnknownKey
from service.accounts.keys import Caller, Scope
from service.http.authentication import Authenticator, authenticate_with_fields, key_in_headers
from service.http.errors import ApiError, ErrorForm, ErrorKind
from service.http.fields import Fields

ROOT = "/language/translate"
KEY_FIELD = "key"
KEY_HEADER = "x-goog-api-key"
MISSING_KEY = "The request is missing a valid API key."
INVALID_KEY = "API key not valid. Please pass a valid API key."
INVALID_TOKEN = "Request had invalid authentication credentials. Expected a key of this server as the token."  # noqa: S105 -- a message
GOOGLE_STATUSES: Mapping[ErrorKind, int] = {ErrorKind.INVALID_INPUT: 400, ErrorKind.QUOTA_EXCEEDED: 403}
"""Statuses that differ from Dragoman's."""


class GoogleErrorCodes(NamedTuple):
    """Codes that programs compare in an error."""

    status: str
    """Canonical code (https://cloud.google.com/apis/design/errors)."""
    reason: str


OTHER = GoogleErrorCodes("INVALID_ARGUMENT", "badRequest")
WORDS: Mapping[ErrorKind, GoogleErrorCodes] = {
    ErrorKind.INVALID_INPUT: GoogleErrorCodes("INVALID_ARGUMENT", "invalid"),
    ErrorKind.UNAUTHENTICATED: GoogleErrorCodes("UNAUTHENTICATED", "authError"),
    ErrorKind.FORBIDDEN: GoogleErrorCodes("PERMISSION_DENIED", "forbidden"),
    ErrorKind.NOT_FOUND: GoogleErrorCodes("NOT_FOUND", "notFound"),
    ErrorKind.METHOD_NOT_ALLOWED: GoogleErrorCodes("UNIMPLEMENTED", "httpMethodNotAllowed"),
    ErrorKind.CLIENT_TIMEOUT: GoogleErrorCodes("DEADLINE_EXCEEDED", "requestTimeout"),
    ErrorKind.TOO_LARGE: GoogleErrorCodes("INVALID_ARGUMENT", "uploadTooLarge"),
    ErrorKind.RATE_LIMITED: GoogleErrorCodes("RESOURCE_EXHAUSTED", "rateLimitExceeded"),
    ErrorKind.QUOTA_EXCEEDED: GoogleErrorCodes("RESOURCE_EXHAUSTED", "quotaExceeded"),
    ErrorKind.OVERLOADED: GoogleErrorCodes("RESOURCE_EXHAUSTED", "rateLimitExceeded"),
    ErrorKind.INTERNAL: GoogleErrorCodes("INTERNAL", "backendError"),
    ErrorKind.NO_ROOM: GoogleErrorCodes("UNAVAILABLE", "backendError"),
    ErrorKind.STORE_UNAVAILABLE: GoogleErrorCodes("UNAVAILABLE", "backendError"),
    ErrorKind.NOT_READY: GoogleErrorCodes("UNAVAILABLE", "backendError"),
    ErrorKind.TIMEOUT: GoogleErrorCodes("DEADLINE_EXCEEDED", "backendError"),
}
FIELD_NAMES = {"text": "q"}
"""This API's names of fields that the translation service names otherwise."""


def error_body(error: ApiError) -> dict[str, object]:
    """Return the body of an error's response."""
    words = WORDS.get(error.kind, OTHER)
    problems = [f"{FIELD_NAMES.get(each.field, each.field)}: {each.problem}" for each in error.fields] or [
        error.message
    ]
    body = {
        "code": GOOGLE_STATUSES.get(error.kind, error.kind.status),
        "message": problems[0] if len(problems) == 1 else error.message,
        "errors": [{"message": problem, "domain": "global", "reason": words.reason} for problem in problems],
        "status": words.status,
    }
    return {"error": body}


ERROR_FORM = ErrorForm((ROOT,), error_body, GOOGLE_STATUSES)


async def enter(
    connection: Request, authenticator: Authenticator, scope: Scope | None
) -> tuple[Caller, Fields]:
    """Return the caller, by a key in a header or in the field `key`, and all fields.

    Clients always send a key. If the server requires none, it accepts any key.

    Args:
        connection: the request.
        authenticator: checks the key and the rate limit.
        scope: scope that the key needs; None if any key will do.

    Raises:
        AccountsError: the key lacks the scope, the rate limit is exceeded, or keys cannot be looked up.
        ApiError: the key is missing or invalid, in the API's words; or the fields cannot be read.
    """
    google_key = connection.headers.get(KEY_HEADER)
    token = None if google_key else key_in_headers(connection)

    async def authenticate(presented: str | None) -> Caller:
        try:
            return await authenticator.authenticate(connection, presented, scope, accepts_any_key=True)
        except MissingKey as error:
            raise ApiError(ErrorKind.FORBIDDEN, MISSING_KEY) from error
        except UnknownKey as error:
            if token:
                challenge = {"WWW-Authenticate": "Bearer"}
                raise ApiError(ErrorKind.UNAUTHENTICATED, INVALID_TOKEN, headers=challenge) from error
            raise ApiError(ErrorKind.MALFORMED, INVALID_KEY) from error

    return await authenticate_with_fields(connection, google_key or token, KEY_FIELD, authenticate)
