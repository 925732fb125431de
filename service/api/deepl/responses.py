"""What every answer of this API has: its form of errors, and an id to ask about it by."""

import secrets
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute

from dragoman.errors import InputError
from service.accounts.errors import GlossaryError, NoDatabase
from service.http.errors import (
    STATUSES,
    ApiError,
    ErrorForm,
    ErrorKind,
    SafeJSONResponse,
    to_api_error,
)

ROOT = "/v2"
NEXT_ROOT = "/v3"
"""Of what DeepL's newest clients ask for besides; nothing of it is served."""
TRACE_HEADER = "X-Trace-ID"
TRACE_SIZE_BYTES = 16
MAX_QUERY_BYTES = 8192
"""Of a URL: what proxies and servers commonly take of one. Longer ones are to be bodies."""
URL_TOO_LONG = 414
OWN_STATUSES: Mapping[ErrorKind, int] = {
    ErrorKind.INVALID_INPUT: 400,
    ErrorKind.UNAUTHENTICATED: 403,
    ErrorKind.QUOTA_EXCEEDED: 456,
}
"""Where DeepL has another one than Dragoman."""
FIELD_NAMES = {"source": "source_lang", "target": "target_lang"}
"""What the desk calls otherwise."""


@dataclass(eq=False)
class WordedError(ApiError):
    """A refusal in DeepL's own words, which its clients look for in the message."""

    detail: str = ""
    """What is wrong here, and what to do."""


def not_supported(name: str, problem: str) -> WordedError:
    """Return the refusal of a field's value."""
    return WordedError(ErrorKind.INVALID_INPUT, f"Value for '{name}' not supported.", detail=problem)


def owns(path: str) -> bool:
    return any(path == root or path.startswith(f"{root}/") for root in (ROOT, NEXT_ROOT))


def respond(error: ApiError) -> Response:
    """An error as DeepL's clients read it."""
    body = {"message": error.message}
    if isinstance(error, WordedError) and error.detail:
        body["detail"] = error.detail
    fields = [(FIELD_NAMES.get(each.field, each.field), _reworded(each.problem)) for each in error.fields]
    if len(fields) == 1:
        body["message"] = f"{fields[0][0]}: {fields[0][1]}"
        if fields[0][0] == "entries":  # its clients look for it there
            body["detail"] = fields[0][1]
    elif fields:
        body["detail"] = "; ".join(f"{name}: {problem}" for name, problem in fields)
    # A challenge belongs to a status that this API never has.
    headers = {name: value for name, value in error.headers.items() if name != "WWW-Authenticate"}
    return SafeJSONResponse(body, status_of(error.kind), {**headers, TRACE_HEADER: new_trace_id()})


FORM = ErrorForm(owns, respond)


def status_of(kind: ErrorKind) -> int:
    return OWN_STATUSES.get(kind, STATUSES[kind])


def new_trace_id() -> str:
    return secrets.token_hex(TRACE_SIZE_BYTES)


class DeepLRoute(APIRoute):
    """Gives every answer an id, and errors of rooms behind it a form that the application knows."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def traced(request: Request) -> Response:
            if len(request.scope["query_string"]) > MAX_QUERY_BYTES:
                response: Response = JSONResponse(
                    {"message": f"the URL's query has more than {MAX_QUERY_BYTES} bytes; send a POST"},
                    URL_TOO_LONG,
                )
            else:
                try:
                    response = await handle(request)
                except (NoDatabase, GlossaryError, InputError) as error:
                    raise worded(error) from error
            response.headers[TRACE_HEADER] = new_trace_id()
            return response

        return traced


def worded(error: Exception) -> ApiError:
    """What a client is told of an error; raises what is none of its business."""
    match error:
        case InputError() if error.field in FIELD_NAMES:
            return not_supported(FIELD_NAMES[error.field], _reworded(error.problem))
        case NoDatabase():  # no trying again helps, as the answer to other failures of the database has it
            return ApiError(
                ErrorKind.MALFORMED, "this server keeps no glossaries; its operator must set database_url"
            )
        case _:
            return to_api_error(error)


def _reworded(problem: str) -> str:
    return problem.replace("`source`", "`source_lang`").replace("`target`", "`target_lang`")
