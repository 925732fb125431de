"""Errors in LibreTranslate's form and words."""

from collections.abc import Mapping
from dataclasses import replace

from fastapi import Request

from service.accounts.errors import MissingKey, RateLimited, UnknownKey
from service.accounts.keys import Caller, Scope
from service.http import errors
from service.http.authentication import Authenticator, authenticate_with_fields, key_in_headers
from service.http.errors import ApiError, ErrorForm, ErrorKind
from service.http.fields import Fields
from service.translation.source_language import DetectionMode

TRANSLATE_FILE = "/translate_file"
PATHS = (
    "/translate",
    "/detect",
    "/languages",
    "/frontend/settings",
    "/health",
    "/spec",
    TRANSLATE_FILE,
    "/suggest",
)
DOWNLOADS = "/download_file"
STATUSES: Mapping[ErrorKind, int] = {
    ErrorKind.UNAUTHENTICATED: 403,
    ErrorKind.QUOTA_EXCEEDED: 403,
    ErrorKind.INVALID_INPUT: 400,
}
KEY_FIELD = "api_key"
MAX_SHOWN = 80
MAX_NAMED = 10


def error_form(headers: Mapping[str, str]) -> ErrorForm:
    """Return the form of errors on these paths and on the paths below them.

    Args:
        headers: headers of every response.
    """
    return ErrorForm((*PATHS, DOWNLOADS), lambda error: {"error": _message(error)}, STATUSES, headers)


def _message(error: ApiError) -> str:
    if [problem.partition(".")[0] for problem in (each.problem for each in error.fields)] == ["is missing"]:
        return f"Invalid request: missing {error.fields[0].field} parameter"
    if len(error.fields) < 2:  # noqa: PLR2004 -- the message names a single field
        return error.message
    named = "; ".join(f"{field.field}: {field.problem}" for field in error.fields[:MAX_NAMED])
    return f"{error.message}: {named}"


def rejected(problem: str) -> ApiError:
    """Return the error for a request that cannot be used: 400."""
    return ApiError(ErrorKind.MALFORMED, f"Invalid request: {problem}")


def unsupported_value_error(what: str) -> ApiError:
    """Return the error for an unsupported value, as for `zz` or the format `xml`: 400."""
    shown = what if len(what) <= MAX_SHOWN else f"{what[:MAX_SHOWN]}…"
    return ApiError(ErrorKind.MALFORMED, f"{shown} is not supported")


def disabled_error(what: str) -> ApiError:
    """Return the error for a disabled feature: 403."""
    return ApiError(ErrorKind.FORBIDDEN, f"{what} on this server.")


def check_detection(detection: DetectionMode) -> None:
    """Raise an ApiError if language detection is disabled."""
    if detection is DetectionMode.OFF:
        raise disabled_error("Language detection is disabled")


async def enter(authenticator: Authenticator, request: Request, scope: Scope) -> tuple[Caller, Fields]:
    """Return the caller, by a key in the headers or in the field `api_key`, and all fields.

    Raises:
        ApiError: the key is missing or invalid, or the rate limit is exceeded, in LibreTranslate's words; or
            the fields cannot be read.
        AccountsError: the key lacks the scope, or cannot be looked up.
    """

    async def authenticate(presented: str | None) -> Caller:
        try:
            return await authenticator.authenticate(request, presented, scope)
        except MissingKey as error:
            message = "Please contact the server operator to get an API key"
            raise ApiError(ErrorKind.MALFORMED, message) from error
        except UnknownKey as error:
            raise ApiError(ErrorKind.FORBIDDEN, "Invalid API key") from error
        except RateLimited as error:
            limited = errors.to_api_error(error)
            raise replace(limited, message=f"Slowdown: {error.limit}") from error

    return await authenticate_with_fields(request, key_in_headers(request), KEY_FIELD, authenticate)
