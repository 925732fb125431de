"""What goes wrong, as LibreTranslate says it."""

from collections.abc import Mapping
from dataclasses import replace

from fastapi import Request

from service.accounts.callers import Caller
from service.accounts.errors import MissingKey, RateLimited, UnknownKey
from service.accounts.keys import Scope
from service.http import errors
from service.http.authentication import Authenticator, authenticate_with_fields, key_in_headers
from service.http.errors import ApiError, ErrorForm, ErrorKind, FieldProblem, SafeJSONResponse
from service.http.fields import Fields
from service.translation.source_language import DetectionMode
from service.translation.translation_service import TextsRejectedError

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
    **errors.STATUSES,
    ErrorKind.UNAUTHENTICATED: 403,
    ErrorKind.QUOTA_EXCEEDED: 403,
    ErrorKind.INVALID_INPUT: 400,
}
KEY_FIELD = "api_key"
MAX_SHOWN = 80
MAX_NAMED = 10


def error_form(headers: Mapping[str, str]) -> ErrorForm:
    """Errors of these paths, and what is below them.

    Args:
        headers: of every response.
    """

    def respond(error: ApiError) -> SafeJSONResponse:
        return SafeJSONResponse(
            {"error": _message(error)}, STATUSES[error.kind], {**headers, **error.headers}
        )

    return ErrorForm(owns, respond)


def owns(path: str) -> bool:
    return any(path == own or path.startswith(f"{own}/") for own in (*PATHS, DOWNLOADS))


def _message(error: ApiError) -> str:
    if len(error.fields) < 2:  # noqa: PLR2004 -- the message has the only one
        return error.message
    named = "; ".join(f"{field.field}: {field.problem}" for field in error.fields[:MAX_NAMED])
    return f"{error.message}: {named}"


def refused(problem: str) -> ApiError:
    """A request that cannot be used: 400."""
    return ApiError(ErrorKind.MALFORMED, f"Invalid request: {problem}")


def not_supported(what: str) -> ApiError:
    """400, as for `zz` or the format `xml`."""
    shown = what if len(what) <= MAX_SHOWN else f"{what[:MAX_SHOWN]}…"
    return ApiError(ErrorKind.MALFORMED, f"{shown} is not supported")


def disabled(what: str) -> ApiError:
    """403."""
    return ApiError(ErrorKind.FORBIDDEN, f"{what} on this server.")


def check_detection(detection: DetectionMode) -> None:
    """Raise an ApiError where languages are not detected."""
    if detection is DetectionMode.OFF:
        raise disabled("Language detection is disabled")


def missing(name: str) -> ApiError:
    return refused(f"missing {name} parameter")


def required(fields: Fields, name: str) -> str:
    """A field's string, which must not be empty."""
    value = fields.string(name)
    if not value:
        raise missing(name)
    return value


def texts_refused(error: TextsRejectedError, *, is_list: bool) -> ApiError:
    """Texts named as the client would."""
    problems = [
        FieldProblem(field=f"q[{item}]" if is_list else "q", problem=problem)
        for item, problem in error.problems
    ]
    return errors.invalid_input(problems, total=len(problems))


async def enter(authenticator: Authenticator, request: Request, scope: Scope) -> tuple[Caller, Fields]:
    """Who makes this request, by a key in its headers or `api_key` among its fields, and all fields.

    Raises:
        ApiError: there must be a key, this is none, or it comes too often, as LibreTranslate words it; or
            the fields cannot be read.
        AccountsError: the key is not for this, or cannot be looked up.
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
            worded = errors.to_api_error(error)
            raise replace(worded, message=f"Slowdown: {error.limit}") from error

    return await authenticate_with_fields(request, key_in_headers(request), KEY_FIELD, authenticate)
