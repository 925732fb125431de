"""OpenAPI documentation of these routes, which parse their requests themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from service.api.deepl.parameters import FORMALITIES, MODEL_TYPES, SPLITTINGS, TAG_HANDLING_VERSIONS
from service.api.deepl.responses import MAX_QUERY_BYTES, TRACE_HEADER
from service.http.openapi_parts import HEADERS

Schema = dict[str, Any]

JSON, FORM, MULTIPART = "application/json", "application/x-www-form-urlencoded", "multipart/form-data"
OCTETS = "application/octet-stream"
REASONS = {
    400: "A field is missing, has a wrong type or value, or wants what is not served",
    403: "There is no API key and the server wants one, there is none like it, or it is not for this",
    404: "There is none of this id",
    408: "The body did not come in time",
    413: "The body, the number of texts or their characters pass a limit",
    414: "The URL is too long",
    415: "The body is in no form that is read, or the answer is accepted in none that is written",
    429: "Too many requests came, or too much is waiting already",
    456: "The API key's characters of this month are used up",
    500: "The server failed, or a model cannot be opened",
    503: "The server is starting or stopping, or has no room now",
    504: "The texts were not translated within the server's time limit",
}
EXAMPLES: Mapping[int, Mapping[str, str]] = {
    400: {
        "missing field": "target_lang: is missing; say which language to translate into",
        "not served": "glossary_id: glossaries are not used in translations here; send the request without "
        "one",
    },
    403: {
        "missing key": "a key is required; ask the server's operator for one",
        "wrong key": "the key is not valid; ask the server's operator for another",
    },
    404: {"not there": "there is no glossary 'def3a26b-3e84-45b3-84ae-0c0aaf3525f7'"},
    408: {"too slow": "the body did not come within 30 s; send it at once"},
    413: {"too large": "the body has more than 1048576 bytes; send the texts in several requests"},
    414: {"too long": f"the URL's query has more than {MAX_QUERY_BYTES} bytes; send a POST"},
    415: {
        "unknown form": "send application/json, application/x-www-form-urlencoded or multipart/form-data, "
        "and say which in the header Content-Type"
    },
    429: {
        "too many requests": "more than 20 per 1 minute; try again in 12 s",
        "too much waiting": "4096 segments wait and at most 4096 may (large requests three quarters of them, "
        "one caller half), so 3 more do not fit; try again later",
    },
    456: {
        "used up": "1200 characters are asked for, and 499500 of 500000 are used in 2026-11 (UTC); send "
        "less, or wait for the next month"
    },
    500: {"failed": "the server failed; its log says where"},
    503: {
        "starting": "the server has not translated its warm-up sentences yet; try again",
        "no database": "keys and quotas cannot be looked up at the moment; try again later",
    },
    504: {"too long": "the translation was not done within 60 s; allow more time or send less text"},
}
"""Example messages by status, each with its name."""
ALWAYS = (400, 403, 408, 413, 414, 415, 429, 500, 503)
TRANSLATING = (*ALWAYS, 456, 504)
_TRACE = {TRACE_HEADER: {"description": "Names this answer.", "schema": {"type": "string"}}}


def described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description}


def structure(properties: Mapping[str, Schema], optional: Sequence[str] = ()) -> Schema:
    """Return the schema of an object; all properties are required but the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), **({"required": required} if required else {})}


TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
ERROR = structure(
    {"message": described(TEXT, "What is wrong."), "detail": described(TEXT, "More of it.")}, ["detail"]
)
KEY = described(
    {"type": ["string", "null"]},
    "The API key, where the header `Authorization: DeepL-Auth-Key KEY` has none.",
)
TARGET = described(
    {"type": "string", "minLength": 1}, "Language to translate into, as in `EN-GB` or `DE`, in any case."
)
SOURCE = described(TEXT, "Language of the text; left out: detected for each text by itself.")
FORMALITY = described(
    {"type": "string", "enum": list(FORMALITIES)}, "`more` and `less` are refused: no model tells them apart."
)
TAGS: Schema = {"anyOf": [{"type": "array", "items": TEXT}, TEXT]}
FLAG: Schema = {"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["0", "1"]}]}

TRANSLATE_FIELDS: Mapping[str, Schema] = {
    "text": described(
        {"anyOf": [{"type": "array", "items": TEXT, "minItems": 1}, TEXT]},
        "Texts; in a form or a URL, repeated. A single one may stand alone.",
    ),
    "target_lang": TARGET,
    "source_lang": SOURCE,
    "split_sentences": described(
        {"type": "string", "enum": list(SPLITTINGS)},
        "`1`: at line breaks and sentence ends. `nonewlines`: at sentence ends. `0`: nowhere. What is too "
        "long for the model is cut in any case. HTML: `nonewlines` unless it says otherwise.",
    ),
    "preserve_formatting": described(FLAG, "Changes nothing: formatting is kept anyway."),
    "formality": FORMALITY,
    "model_type": described(
        {"type": "string", "enum": list(MODEL_TYPES)},
        "`latency_optimized`: greedy search. Else: the model's own beam.",
    ),
    "context": described(TEXT, "Changes nothing: texts are translated by themselves."),
    "show_billed_characters": described(FLAG, "Whether the answer tells how many characters were charged."),
    "tag_handling": described({"type": "string", "enum": ["xml", "html"]}, "What texts are marked up in."),
    "tag_handling_version": described(
        {"type": "string", "enum": list(TAG_HANDLING_VERSIONS)}, "Changes nothing but the answer's own."
    ),
    "outline_detection": described(FLAG, "In XML, whether the tags that part texts are found."),
    "ignore_tags": described(
        TAGS, "What they hold is not translated. Strings may have several, with commas."
    ),
    "splitting_tags": described(TAGS, "Text before, in and after them is translated apart."),
    "non_splitting_tags": described(TAGS, "They stand among words."),
    "auth_key": KEY,
}
TRANSLATION = structure(
    {
        "detected_source_language": TEXT,
        "text": TEXT,
        "billed_characters": COUNT,
        "model_type_used": TEXT,
        "tag_handling_version": TEXT,
    },
    ["billed_characters", "model_type_used", "tag_handling_version"],
)
TRANSLATIONS = structure({"translations": {"type": "array", "items": TRANSLATION}})
TRANSLATE_EXAMPLE = {"text": ["Guten Morgen.", "Ein Hund rennt."], "target_lang": "EN-GB"}
TRANSLATIONS_EXAMPLE = {
    "translations": [
        {"detected_source_language": "DE", "text": "Good morning."},
        {"detected_source_language": "DE", "text": "A dog is running."},
    ]
}
GLOSSARY_FIELDS: Mapping[str, Schema] = {
    "name": described(TEXT, "What it is called."),
    "source_lang": described(TEXT, "Language of the terms, as in `de`; of all its regions."),
    "target_lang": described(TEXT, "Language that they are translated into."),
    "entries": described(TEXT, "Terms and what they are in the target language, a line each."),
    "entries_format": described(
        {"type": "string", "enum": ["tsv", "csv"]}, "What parts a term from its translation: tab or comma."
    ),
}
GLOSSARY_OUT = structure(
    {
        "glossary_id": TEXT,
        "name": TEXT,
        "ready": described({"type": "boolean"}, "Whether translations may use it: none does."),
        "source_lang": TEXT,
        "target_lang": TEXT,
        "creation_time": {"type": "string", "format": "date-time"},
        "entry_count": COUNT,
    }
)
GLOSSARY_EXAMPLE = {
    "glossary_id": "def3a26b-3e84-45b3-84ae-0c0aaf3525f7",
    "name": "Products",
    "ready": False,
    "source_lang": "de",
    "target_lang": "en",
    "creation_time": "2026-11-22T12:00:00.000000Z",
    "entry_count": 2,
}
STATUS = structure(
    {
        "document_id": TEXT,
        "status": {"type": "string", "enum": ["queued", "translating", "done", "error"]},
        "seconds_remaining": described(
            COUNT, "Until it is done: by its own speed once that is known, else by its length."
        ),
        "billed_characters": COUNT,
        "error_message": TEXT,
        "message": described(TEXT, "As `error_message`."),
    },
    ["seconds_remaining", "billed_characters", "error_message", "message"],
)


def operation(
    status: int,
    answer: Mapping[str, Any],
    errors: Sequence[int],
    body: Mapping[str, Any] | None = None,
    parameters: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return the documentation of a route.

    Args:
        status: status of a successful response.
        answer: content of that response, by media type.
        errors: statuses of the errors.
        body: content of the request, by media type; None if it has no body.
        parameters: parameters in the URL.
    """
    failures = {str(each): _failure(each) for each in sorted(errors)}
    succeeded: dict[str, Any] = {"description": "It is done", "headers": _TRACE}
    if answer:
        succeeded["content"] = dict(answer)
    described_route: dict[str, Any] = {
        "tags": ["deepl"],
        "responses": {str(status): succeeded, **failures},
        "security": [{}],  # besides the key: not every server requires one
    }
    if parameters:
        described_route["parameters"] = list(parameters)
    if body is not None:
        described_route["requestBody"] = {"required": True, "content": dict(body)}
    return described_route


def _failure(status: int) -> dict[str, Any]:
    examples = {
        name.replace(" ", "_"): {"summary": name, "value": {"message": message}}
        for name, message in EXAMPLES[status].items()
    }
    return {
        "description": REASONS[status],
        "headers": {**_TRACE, **HEADERS.get(status, {})},
        "content": {JSON: {"schema": ERROR, "examples": examples}},
    }


def json_content(schema: Schema, example: Any) -> dict[str, Any]:
    return {JSON: {"schema": schema, "example": example}}


def in_url(properties: Mapping[str, Schema], required: Sequence[str]) -> list[dict[str, Any]]:
    """Return fields as query parameters; arrays are repeated."""
    return [
        {"name": name, "in": "query", "required": name in required, "schema": schema}
        for name, schema in properties.items()
    ]


def _in_path(name: str, description: str) -> list[dict[str, Any]]:
    return [{"name": name, "in": "path", "required": True, "description": description, "schema": TEXT}]


def _body(properties: Mapping[str, Schema], required: Sequence[str], example: Any) -> dict[str, Any]:
    """Return the content of a body in JSON or in a form."""
    schema = structure(properties, [name for name in properties if name not in required])
    return {kind: {"schema": schema, "example": example} for kind in (JSON, FORM)}


_TRANSLATE_REQUIRED = ("text", "target_lang")
TRANSLATE_IN_BODY = operation(
    200,
    json_content(TRANSLATIONS, TRANSLATIONS_EXAMPLE),
    TRANSLATING,
    _body(TRANSLATE_FIELDS, _TRANSLATE_REQUIRED, TRANSLATE_EXAMPLE),
)
TRANSLATE_BY_URL = operation(
    200,
    json_content(TRANSLATIONS, TRANSLATIONS_EXAMPLE),
    TRANSLATING,
    parameters=in_url(TRANSLATE_FIELDS, _TRANSLATE_REQUIRED),
)
LANGUAGE_SIDE = described(
    {"type": "string", "enum": ["source", "target", ""]}, "Which are wanted; sources if left out or empty."
)
LANGUAGES = operation(
    200,
    json_content(
        {
            "type": "array",
            "items": structure(
                {"language": TEXT, "name": TEXT, "supports_formality": {"type": "boolean"}},
                ["supports_formality"],
            ),
        },
        [{"language": "DE", "name": "German", "supports_formality": False}],
    ),
    ALWAYS,
    parameters=in_url({"type": LANGUAGE_SIDE, "auth_key": KEY}, ()),
)
USAGE = operation(
    200,
    json_content(
        structure({"character_count": COUNT, "character_limit": COUNT}),
        {"character_count": 12345, "character_limit": 500000},
    ),
    ALWAYS,
    parameters=in_url({"auth_key": KEY}, ()),
)
GLOSSARY_LANGUAGE_PAIRS = operation(
    200,
    json_content(
        structure(
            {
                "supported_languages": {
                    "type": "array",
                    "items": structure({"source_lang": TEXT, "target_lang": TEXT}),
                }
            }
        ),
        {"supported_languages": [{"source_lang": "de", "target_lang": "en"}]},
    ),
    ALWAYS,
)
CREATE_GLOSSARY = operation(
    201,
    json_content(GLOSSARY_OUT, GLOSSARY_EXAMPLE),
    ALWAYS,
    _body(
        {**GLOSSARY_FIELDS, "auth_key": KEY},
        tuple(GLOSSARY_FIELDS),
        {
            "name": "Products",
            "source_lang": "de",
            "target_lang": "en",
            "entries": "Hund\tdog\nKatze\tcat",
            "entries_format": "tsv",
        },
    ),
)
LIST_GLOSSARIES = operation(
    200,
    json_content(
        structure({"glossaries": {"type": "array", "items": GLOSSARY_OUT}}),
        {"glossaries": [GLOSSARY_EXAMPLE]},
    ),
    ALWAYS,
)
_FIND = (*ALWAYS, 404)
_GLOSSARY_ID = _in_path("glossary_id", "As it was told when the glossary was made.")
GLOSSARY = operation(200, json_content(GLOSSARY_OUT, GLOSSARY_EXAMPLE), _FIND, parameters=_GLOSSARY_ID)
GLOSSARY_ENTRIES = operation(
    200,
    {"text/tab-separated-values": {"schema": TEXT, "example": "Hund\tdog\nKatze\tcat\n"}},
    _FIND,
    parameters=_GLOSSARY_ID,
)
DELETE_GLOSSARY = operation(204, {}, _FIND, parameters=_GLOSSARY_ID)
UPLOAD = operation(
    200,
    json_content(
        structure({"document_id": TEXT, "document_key": TEXT}),
        {"document_id": "0" * 32, "document_key": "0" * 64},
    ),
    (*ALWAYS, 456),
    {
        MULTIPART: {
            "schema": structure(
                {
                    "file": described(
                        {"type": "string", "format": "binary"},
                        "What is translated; its name tells what it is.",
                    ),
                    "target_lang": TARGET,
                    "source_lang": described(TEXT, "Left out: detected."),
                    "filename": described(TEXT, "Counts for more than the file's own name."),
                    "output_format": described(TEXT, "No other than the file's own."),
                    "formality": FORMALITY,
                    "auth_key": KEY,
                },
                ["source_lang", "filename", "output_format", "formality", "auth_key"],
            ),
            "example": {"file": "Ein Hund rennt.", "target_lang": "EN-GB", "filename": "letter.txt"},
        }
    },
)
_DOCUMENT_ID = _in_path("document_id", "As it was told when the document was sent in.")
_JOB = _body(
    {"document_key": described(TEXT, "As it was told beside the id."), "auth_key": KEY},
    ("document_key",),
    {"document_key": "0" * 64},
)
DOCUMENT_STATUS = operation(
    200,
    json_content(STATUS, {"document_id": "0" * 32, "status": "done", "billed_characters": 1337}),
    _FIND,
    _JOB,
    _DOCUMENT_ID,
)
DOCUMENT_RESULT = operation(
    200,
    {
        "application/octet-stream": {
            "schema": {"type": "string", "format": "binary"},
            "example": "A dog runs.",
        }
    },
    _FIND,
    _JOB,
    _DOCUMENT_ID,
)
