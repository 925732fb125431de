"""OpenAPI documentation of these routes, which parse their bodies themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Security
from fastapi.params import Depends
from fastapi.security import APIKeyQuery

from service.api.libretranslate.errors import STATUSES
from service.api.libretranslate.requests import HTML, MAX_ALTERNATIVES, TEXT
from service.api.libretranslate.responses import ErrorOut
from service.http.errors import ErrorKind
from service.http.openapi_parts import HEADERS, WITH_KEY, WITHOUT_KEY

JSON = "application/json"
FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
MULTIPART = FORMS[1]
BYTES = "application/octet-stream"
Schema = Mapping[str, Any]

KEY_IN_QUERY = APIKeyQuery(
    name="api_key",
    scheme_name="LibreTranslate",
    description="The key as a field `api_key`, of the URL or of the body.",
    auto_error=False,
)
WITH_ANY_KEY: Sequence[Depends] = (Security(KEY_IN_QUERY), *WITH_KEY)
"""`dependencies` of routes that accept keys. They only serve the document: `errors.enter` reads keys."""

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
        "format": {
            "type": ["string", "null"],
            "enum": [TEXT, HTML, None],
            "default": TEXT,
            "description": "What the texts are; tags of `html` stay around the words they stood around.",
        },
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
    "properties": {
        "q": {"type": "string", "minLength": 1, "description": "A text."},
        "api_key": KEY,
    },
}
FILE_TO_TRANSLATE: Schema = {
    "type": "object",
    "required": ["file", "source", "target"],
    "properties": {
        "file": {"type": "string", "contentMediaType": BYTES, "description": "Its name tells what it is."},
        "source": SOURCE,
        "target": TARGET,
        "api_key": {"type": "string", "description": KEY["description"]},
    },
}
SUGGEST: Schema = {
    "type": "object",
    "properties": {
        "q": {"type": "string", "description": "A text."},
        "s": {"type": "string", "description": "A better translation of it."},
        "source": {"type": "string", "description": "Language of the text."},
        "target": {"type": "string", "description": "Language of the translation."},
        "api_key": KEY,
    },
}
FILE_NAME: Schema = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "As `translatedFileUrl` has it.",
    "schema": {"type": "string"},
}
EXAMPLES: Mapping[int, Mapping[str, str]] = {
    400: {
        "missing field": "Invalid request: missing q parameter",
        "unknown language": "zz is not supported",
        "unserved pair": "French (fr) is not available as a target language from German (de)",
        "missing key": "Please contact the server operator to get an API key",
    },
    403: {
        "invalid key": "Invalid API key",
        "used up": "1200 characters are asked for, and 499500 of 500000 are used in 2026-11 (UTC); send "
        "less, or wait for the next month",
        "not done here": "Language detection is disabled on this server.",
    },
    404: {"no such file": "there is no such document; it was fetched already, or its time is over"},
    408: {"too slow": "the body did not come within 30 s; send it at once"},
    413: {"too large": "the body has more than 1048576 bytes; send the texts in several requests"},
    415: {
        "unknown form": "send application/json, application/x-www-form-urlencoded or multipart/form-data, "
        "and say which in the header Content-Type"
    },
    429: {
        "too many requests": "Slowdown: 20 per 1 minute",
        "too much waiting": "4096 segments wait and at most 4096 may (large requests three quarters of them, "
        "one caller half), so 3 more do not fit; try again later",
    },
    500: {"failed": "the server failed; its log says where"},
    503: {
        "starting": "the server has not translated its warm-up sentences yet; try again",
        "no database": "keys and quotas cannot be looked up at the moment; try again later",
    },
    504: {"too long": "the translation was not done within 60 s; allow more time or send less text"},
}
"""Example messages by status, each with its name."""
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
    """Return the documentation of a route's responses.

    Args:
        good: the response with status 200.
        kinds: kinds of errors.
    """
    return {200: dict(good), **failures(kinds)}


def failures(kinds: Sequence[ErrorKind]) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of a route's errors."""
    return {status: _failure(status) for status in sorted({STATUSES[kind] for kind in kinds})}


def form_body(schema: Schema, example: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documentation of a body in JSON or in a form."""
    content = {kind: {"schema": schema, "example": dict(example)} for kind in (JSON, *FORMS)}
    return {"requestBody": {"required": True, "content": content}, **WITHOUT_KEY}


def file_body(schema: Schema) -> dict[str, Any]:
    """Return the documentation of a body with a file."""
    example = {"file": "Ein Hund rennt.", "source": "de", "target": "en"}
    content = {MULTIPART: {"schema": schema, "example": example}}
    return {"requestBody": {"required": True, "content": content}, **WITHOUT_KEY}


def answered(model: object, description: str, examples: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documentation of a successful response in JSON, with examples by name."""
    return {"model": model, "description": description, "content": {JSON: {"examples": _named(examples)}}}


def _failure(status: int) -> dict[str, Any]:
    messages = {name: {"error": message} for name, message in EXAMPLES[status].items()}
    return {
        "model": ErrorOut,
        "description": DESCRIPTIONS[status],
        "content": {JSON: {"examples": _named(messages)}},
        **({"headers": dict(HEADERS[status])} if status in HEADERS else {}),
    }


def _named(examples: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace(" ", "_"): {"summary": name, "value": each} for name, each in examples.items()}
