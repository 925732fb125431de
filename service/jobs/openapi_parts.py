"""Parts of the OpenAPI document about jobs: bodies, parameters and responses, each with an example."""

from collections.abc import Mapping
from typing import Any

from service.batch.output_files import OnFailure
from service.http.errors import ErrorKind
from service.http.openapi_parts import EVENTS, JSON, error_responses
from service.jobs.job import JobState
from service.jobs.upload_form import JSON_LINES, MULTIPART

OCTETS = "application/octet-stream"
JSON_LINES_OUT = "application/jsonl"
BINARY: Mapping[str, Any] = {"type": "string", "contentMediaType": OCTETS}

RUNNING: Mapping[str, Any] = {
    "id": "019ab7c1d2e34f5a6b7c8d9e0f1a2b3c",
    "state": "running",
    "is_cancelling": False,
    "file_name": "letters.jsonl",
    "source": "de",
    "target": "en",
    "model": None,
    "columns": [],
    "on_failure": "source",
    "webhook_url": None,
    "webhook": None,
    "progress": {
        "entries": 100000,
        "done": 42000,
        "failed": 0,
        "characters": 5200000,
        "entries_per_s": 310.5,
        "time_left_s": 186.8,
    },
    "problem": None,
    "result": None,
    "created_at": "2026-11-22T12:00:00Z",
    "started_at": "2026-11-22T12:00:01Z",
    "finished_at": None,
    "expires_at": None,
}
DONE: Mapping[str, Any] = {
    **RUNNING,
    "state": "done",
    "progress": {
        "entries": 100000,
        "done": 100000,
        "failed": 1,
        "characters": 5200000,
        "entries_per_s": 311.0,
        "time_left_s": None,
    },
    "result": {"size_bytes": 5400000, "sha256": "0" * 64},
    "finished_at": "2026-11-22T12:05:23Z",
    "expires_at": "2026-11-29T12:05:23Z",
}
PAGE: Mapping[str, Any] = {
    "jobs": [DONE],
    "stored_bytes": 5400000,
    "max_stored_bytes": 2147483648,
    "next_cursor": None,
}
PROBLEMS = (
    '{"file": "letters.jsonl", "place": "line 7", "outcome": "untranslated", "problem": "lone surrogate", '
    '"text": "..."}\n'
)

_TEXT: Mapping[str, Any] = {"type": "string"}
_JOB_REQUEST: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "source": (_TEXT, "Language of the file, as in `de`. Left out or `auto`: detected from its beginning."),
    "target": (_TEXT, "Language to translate into. May be left out where only one is possible."),
    "model": (_TEXT, "The only model to use, by its name or its folder's."),
    "columns": (
        {"type": "array", "items": _TEXT},
        "Columns of a table, or keys of JSON lines, that are translated; once for each.",
    ),
    "on_failure": (
        {"type": "string", "enum": [*(each.value for each in OnFailure), ""]},
        "What stands for a text that cannot be translated: itself, or nothing. Left empty: itself.",
    ),
    "webhook_url": (_TEXT, "Where the end of the job is told, if the server sends such messages."),
    "file_name": (_TEXT, "Counts for more than the file's own name; it tells the format."),
}
_LINES_EXAMPLE = '{"text": "Ein Hund rennt."}\n{"text": "Zwei Kinder spielen."}\n'

UPLOAD: Mapping[str, Any] = {
    "security": [{}],
    "requestBody": {
        "required": True,
        "content": {
            MULTIPART: {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "additionalProperties": False,
                    "properties": {
                        "file": {"type": "string", "format": "binary", "description": "What is translated."},
                        **{
                            name: {**schema, "description": meaning}
                            for name, (schema, meaning) in _JOB_REQUEST.items()
                        },
                    },
                },
                "example": {"file": "Ein Hund rennt.", "target": "en", "file_name": "letter.txt"},
            },
            **{
                kind: {
                    "schema": {
                        "type": "string",
                        "description": "JSON lines, also as `application/jsonl`; wishes are in the URL.",
                        "properties": {},
                    },
                    "example": _LINES_EXAMPLE,
                }
                for kind in JSON_LINES[:1]
            },
        },
    },
    "parameters": [
        {
            "name": name,
            "in": "query",
            "required": False,
            "schema": dict(schema),
            "description": f"{meaning} For JSON lines; a form has it as a field.",
        }
        for name, (schema, meaning) in _JOB_REQUEST.items()
    ],
}
JOB_ID: Mapping[str, Any] = {
    "name": "job_id",
    "in": "path",
    "required": True,
    "schema": {"type": "string"},
    "description": "As it was told when the file was sent in.",
}
ONE: Mapping[str, Any] = {"security": [{}], "parameters": [JOB_ID]}
RANGED: Mapping[str, Any] = {
    "security": [{}],
    "parameters": [
        JOB_ID,
        {
            "name": "Range",
            "in": "header",
            "required": False,
            "schema": {"type": "string"},
            "description": "Which bytes, as in `bytes=1000-1999`; one range only.",
        },
    ],
}
LISTED: Mapping[str, Any] = {
    "security": [{}],
    "parameters": [
        {
            "name": "limit",
            "in": "query",
            "required": False,
            "schema": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
            "description": "Most jobs of a page.",
        },
        {
            "name": "cursor",
            "in": "query",
            "required": False,
            "schema": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "description": "The page after the one that gave it.",
        },
        {
            "name": "state",
            "in": "query",
            "required": False,
            "schema": {"type": "string", "enum": [each.value for each in JobState]},
            "description": "Only jobs in this state.",
        },
    ],
}

_LOOKED_UP = {
    ErrorKind.UNAUTHENTICATED: "There is no API key, and the server wants one; or there is none like it",
    ErrorKind.FORBIDDEN: "The API key has not the scope `documents`",
    ErrorKind.RATE_LIMITED: "Too many requests came; `Retry-After` says when to come back",
    ErrorKind.INTERNAL: "The server failed",
    ErrorKind.STORE_UNAVAILABLE: "The database or the store of files cannot be used at the moment",
    ErrorKind.CLIENT_TIMEOUT: "The body did not come in time",
    ErrorKind.TOO_LARGE: "The body passes a limit",
}
OF_ONE = {**_LOOKED_UP, ErrorKind.NOT_FOUND: "The caller has no such job"}
OF_FILES = {**OF_ONE, ErrorKind.CONFLICT: "The job has not ended"}
OF_RESULT = {
    **OF_FILES,
    ErrorKind.RANGE_NOT_SATISFIABLE: "There is nothing of what is asked for",
}
OF_LIST = {**_LOOKED_UP, ErrorKind.INVALID_INPUT: "A parameter is unknown or cannot be used"}
OF_STREAM = {**OF_ONE, ErrorKind.OVERLOADED: "Too many follow jobs already"}
OF_UPLOAD = {
    **_LOOKED_UP,
    ErrorKind.MALFORMED: "The form or the URL cannot be read",
    ErrorKind.TOO_LARGE: "The file passes the limit `max_job_bytes`",
    ErrorKind.UNSUPPORTED_MEDIA_TYPE: "The body is neither a form nor JSON lines",
    ErrorKind.INVALID_INPUT: "A field is unknown or cannot be used, the pair is not served, or the file is "
    "not what its name says, is damaged or is unsafe",
    ErrorKind.QUOTA_EXCEEDED: "The API key's characters of this month are used up, or its files take as "
    "many bytes as they may",
    ErrorKind.OVERLOADED: "Too many jobs of the key are not done, or too many of its bytes are under way",
    ErrorKind.NO_ROOM: "Too many bytes of files are kept, or under way",
}


def responses(
    answers: Mapping[int, Mapping[str, Any]], errors: Mapping[ErrorKind, str]
) -> dict[int | str, dict[str, Any]]:
    """Return all responses of a route, errors included."""
    return {**{status: dict(answer) for status, answer in answers.items()}, **error_responses(errors)}


def job_answer(description: str, example: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a response with a job."""
    schema = {"$ref": "#/components/schemas/JobOut"}
    return {"description": description, "content": {JSON: {"schema": schema, "example": dict(example)}}}


def file_answer(description: str, media_type: str, example: str) -> dict[str, Any]:
    """Describe a response with a file."""
    schema = {**BINARY, "contentMediaType": media_type}
    return {"description": description, "content": {media_type: {"schema": schema, "example": example}}}


def events_answer() -> dict[str, Any]:
    """Describe a stream of server-sent events with jobs."""
    items = {
        "oneOf": [
            {
                "type": "object",
                "required": ["event", "data"],
                "properties": {
                    "event": {"const": name},
                    "data": {
                        "type": "string",
                        "contentMediaType": JSON,
                        "contentSchema": {"$ref": "#/components/schemas/JobOut"},
                    },
                },
            }
            for name in ("progress", "end")
        ]
    }
    example = 'event: progress\ndata: {"state":"running"}\n\nevent: end\ndata: {"state":"done"}\n\n'
    description = (
        "Events, each with the job as its data. `progress`: when something has changed, and at first. `end`: "
        "it has ended, and so does the stream"
    )
    return {"description": description, "content": {EVENTS: {"itemSchema": items, "example": example}}}
