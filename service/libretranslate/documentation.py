"""What the OpenAPI document says of routes whose bodies are read by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.front.errors import ErrorKind
from service.libretranslate.refusals import STATUSES
from service.libretranslate.requests import HTML, MAX_ALTERNATIVES, TEXT
from service.libretranslate.responses import ErrorOut

JSON = "application/json"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
MULTIPART = FORMS[1]
BYTES = "application/octet-stream"
Schema = Mapping[str, Any]

KEY: Schema = {
    "type": ["string", "null"],
    "description": "An API key, where the server wants one. It may also stand in a header: `Authorization: "
    "Bearer KEY` or `X-API-Key: KEY`.",
}
TEXT_OR_TEXTS: Schema = {
    "description": "A text, or an array of them; a form may have several fields `q`. Line ends of a form are "
    "taken for `\\n`.",
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ],
}
SOURCE: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "Language of the text by its code, in whatever case, old or new; `auto` detects it.",
}
TARGET: Schema = {"type": "string", "minLength": 1, "description": "Language to translate into."}
TRANSLATE: Schema = {
    "type": "object",
    "required": ["q", "source", "target"],
    "properties": {
        "q": TEXT_OR_TEXTS,
        "source": SOURCE,
        "target": TARGET,
        "format": {"type": ["string", "null"], "enum": [TEXT, HTML, None], "default": TEXT},
        "alternatives": {
            "type": ["integer", "null"],
            "minimum": 0,
            "maximum": MAX_ALTERNATIVES,
            "default": 0,
            "description": "How many other translations are wanted; above 3 the search looks further, so "
            "that the best one may be another.",
        },
        "api_key": KEY,
    },
}
DETECT: Schema = {
    "type": "object",
    "required": ["q"],
    "properties": {"q": {"type": "string", "minLength": 1}, "api_key": KEY},
}
FILE_TO_TRANSLATE: Schema = {
    "type": "object",
    "required": ["file", "source", "target"],
    "properties": {
        "file": {"type": "string", "contentMediaType": BYTES, "description": "Its name tells what it is."},
        "source": SOURCE,
        "target": TARGET,
        "api_key": {"type": "string"},
    },
}
FILE_NAME: Schema = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "As `translatedFileUrl` has it.",
    "schema": {"type": "string"},
}
REASONS: Mapping[ErrorKind, str] = {
    ErrorKind.MALFORMED: "Invalid request: missing q parameter",
    ErrorKind.FORBIDDEN: "Invalid API key",
    ErrorKind.NOT_FOUND: "there is no such document; it was fetched already, or kept for its time",
    ErrorKind.CLIENT_TIMEOUT: "the body did not come within 30 s; send it at once",
    ErrorKind.TOO_LARGE: "the body has more than 1048576 bytes; send the texts in several requests",
    ErrorKind.UNSUPPORTED_MEDIA_TYPE: "send application/json, application/x-www-form-urlencoded or "
    "multipart/form-data, and say which in the header Content-Type",
    ErrorKind.RATE_LIMITED: "Slowdown: 20 per 1 minute",
    ErrorKind.INTERNAL: "the server failed; its log says where",
    ErrorKind.NOT_READY: "the server has not translated its warm-up sentences yet; try again",
    ErrorKind.TIMEOUT: "not translated within 60 s",
}
DESCRIPTIONS: Mapping[int, str] = {
    400: "A field is missing or cannot be used, a language or pair is not served, or there is no API key and "
    "the server wants one",
    403: "The API key is not valid, or not for this, its characters of this month are used up, or the server "
    "does not do this at all",
    404: "There is no such file, or not any more",
    408: "The body came too slowly",
    413: "The body is too large",
    415: "The body is in none of the known forms",
    429: "Too many requests came, or too much is waiting; `Retry-After` says when to come back",
    500: "The server failed, or a model cannot be opened",
    503: "The server is starting or stopping, or has no room; `Retry-After` says when to come back",
    504: "It was not translated within the server's time limit",
}
OF_WORK = (
    ErrorKind.MALFORMED,
    ErrorKind.FORBIDDEN,
    ErrorKind.CLIENT_TIMEOUT,
    ErrorKind.TOO_LARGE,
    ErrorKind.UNSUPPORTED_MEDIA_TYPE,
    ErrorKind.RATE_LIMITED,
    ErrorKind.INTERNAL,
    ErrorKind.NOT_READY,
    ErrorKind.TIMEOUT,
)


def responses(good: Mapping[str, Any], kinds: Sequence[ErrorKind]) -> dict[int | str, dict[str, Any]]:
    """What a route may answer.

    Args:
        good: of its status 200.
        kinds: of errors.
    """
    return {200: dict(good), **{STATUSES[kind]: _failure(kind) for kind in kinds}}


def form_body(schema: Schema, example: Mapping[str, Any]) -> dict[str, Any]:
    """A body in JSON or in a form."""
    content = {kind: {"schema": schema} for kind in FORMS}
    return {"requestBody": {"required": True, "content": {JSON: _with_example(schema, example), **content}}}


def file_body(schema: Schema) -> dict[str, Any]:
    """A body with a file."""
    return {"requestBody": {"required": True, "content": {MULTIPART: {"schema": schema}}}}


def _with_example(schema: Schema, example: Mapping[str, Any]) -> dict[str, Any]:
    return {"schema": schema, "example": dict(example)}


def _failure(kind: ErrorKind) -> dict[str, Any]:
    status = STATUSES[kind]
    return {
        "model": ErrorOut,
        "description": DESCRIPTIONS[status],
        "content": {JSON: {"example": {"error": REASONS[kind]}}},
    }
