"""Parts that all of DeepL's responses share: the form of errors, and a trace ID that identifies each."""

import secrets
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from fastapi import Request
from fastapi.responses import JSONResponse, Response
from fastapi.routing import APIRoute

from dragoman.errors import InputError
from service.glossaries.errors import UnknownDictionary
from service.http.errors import ApiError, ErrorForm, ErrorKind, to_api_error

ROOT = "/v2"
NEXT_ROOT = "/v3"
"""Root of the paths of version 3."""
TRACE_HEADER = "X-Trace-ID"
TRACE_SIZE_BYTES = 16
MAX_QUERY_BYTES = 8192
"""Maximum bytes of a URL's query, as proxies and servers commonly accept; longer ones must be bodies."""
URL_TOO_LONG = 414
DEEPL_STATUSES: Mapping[ErrorKind, int] = {
    ErrorKind.INVALID_INPUT: 400,
    ErrorKind.UNAUTHENTICATED: 403,
    ErrorKind.QUOTA_EXCEEDED: 456,
}
"""Statuses that differ from Dragoman's."""
FORMALITY_NOT_SUPPORTED = (
    "Target language does not support formality: 'formality' is not supported for given 'target_lang'."
)
NO_DICTIONARY = "No dictionary found for language pair"
FIELD_NAMES = {
    "source": "source_lang",
    "target": "target_lang",
    "glossary": "glossary_id",
    "memory": "translation_memory_id",
    "memory_matches": "translation_memory_threshold",
}
"""DeepL's names of fields that the translation service names otherwise."""
DEEPL_NAMES = {
    "`source`": "`source_lang`",
    "`target`": "`target_lang`",
    "prefer_formal": "prefer_more",
    "prefer_informal": "prefer_less",
    "has no entries for": NO_DICTIONARY,
}
"""Names in the messages of other layers, with DeepL's names."""


@dataclass(eq=False)
class DeepLError(ApiError):
    """An error in DeepL's own words, which its clients look for in the message."""

    detail: str = ""
    """The problem on this server, and what to do."""


def unsupported_value_error(name: str, problem: str) -> DeepLError:
    """Return the error for an unsupported value of a field."""
    return DeepLError(ErrorKind.INVALID_INPUT, f"Value for '{name}' not supported.", detail=problem)


def read_id(sent: str, name: str) -> str:
    """Return an id. Raises a DeepLError if it is malformed, which clients tell from unknown."""
    try:
        return str(UUID(sent))
    except ValueError as error:
        raise unsupported_value_error(name, "must be a UUID, as from its creation") from error


def error_body(error: ApiError) -> dict[str, str]:
    """Return the body of an error's response."""
    body = {"message": error.message}
    if isinstance(error, DeepLError) and error.detail:
        body["detail"] = error.detail
    fields = [
        (FIELD_NAMES.get(each.field, each.field), _with_deepl_names(each.problem)) for each in error.fields
    ]
    if len(fields) == 1:
        body["message"] = f"{fields[0][0]}: {fields[0][1]}"
        if fields[0][0].endswith("entries"):  # DeepL's clients look for it there
            body["detail"] = fields[0][1]
    elif fields:
        body["detail"] = "; ".join(f"{name}: {problem}" for name, problem in fields)
    return body


class DeepLErrorForm(ErrorForm):
    """The form of DeepL's errors, each with a trace ID."""

    def respond(self, error: ApiError) -> Response:
        response = super().respond(error)
        del response.headers["WWW-Authenticate"]  # it belongs to status 401, which this API never returns
        response.headers[TRACE_HEADER] = new_trace_id()
        return response


FORM = DeepLErrorForm((ROOT, NEXT_ROOT), error_body, DEEPL_STATUSES)


def new_trace_id() -> str:
    return secrets.token_hex(TRACE_SIZE_BYTES)


class DeepLRoute(APIRoute):
    """Route that gives every response a trace ID, and rewords errors of other layers for DeepL's clients."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def handle_with_trace_id(request: Request) -> Response:
            if len(request.scope["query_string"]) > MAX_QUERY_BYTES:
                response: Response = JSONResponse(
                    {"message": f"the URL's query has more than {MAX_QUERY_BYTES} bytes; send a POST"},
                    URL_TOO_LONG,
                )
            else:
                try:
                    response = await handle(request)
                except (UnknownDictionary, InputError) as error:
                    raise to_deepl_error(error) from error
            response.headers[TRACE_HEADER] = new_trace_id()
            return response

        return handle_with_trace_id


def to_deepl_error(error: Exception) -> ApiError:
    """Convert an error to one for the client; raise an unexpected error again."""
    match error:
        case InputError(field="formality"):
            return DeepLError(
                ErrorKind.INVALID_INPUT, FORMALITY_NOT_SUPPORTED, detail=_with_deepl_names(error.problem)
            )
        case UnknownDictionary():
            return ApiError(
                ErrorKind.NOT_FOUND, f"{NO_DICTIONARY} {error.pair}; the glossary has {error.known}"
            )
        case InputError() if error.field in {"source", "target"}:
            return unsupported_value_error(FIELD_NAMES[error.field], _with_deepl_names(error.problem))
        case _:
            return to_api_error(error)


def _with_deepl_names(problem: str) -> str:
    for ours, deepls in DEEPL_NAMES.items():
        problem = problem.replace(ours, deepls)
    return problem
