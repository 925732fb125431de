"""The OpenAPI document, and whether something fits it."""

import json
from functools import cache
from typing import Any

import jsonschema_rs

from service.http.openapi import EVENT_SCHEMA
from tests.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "openapi.json"
"""A test makes the document anew and compares: here, to read it is quicker."""
DOCUMENT = json.loads(PAGE.read_text(encoding="utf8"))
STREAM = DOCUMENT["paths"]["/v1/translate/stream"]["post"]["responses"]["200"]["content"]["text/event-stream"]


def assert_fits(value: Any, schema: Any, where: str) -> None:
    problems = [error.message for error in _validator(json.dumps(schema)).iter_errors(value)]
    assert problems == [], f"{where}: {value}"


@cache
def _validator(schema: str) -> jsonschema_rs.Draft202012Validator:
    """Return the validator of a schema, whose references are relative to the document."""
    return jsonschema_rs.Draft202012Validator({**json.loads(schema), "components": DOCUMENT["components"]})


def events_of(body: str) -> list[dict[str, str]]:
    """Fields of each server-sent event."""
    blocks = body.strip().split("\n\n")
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]


def data_schemas() -> dict[str, Any]:
    """Of the data of a stream's events, by their names."""
    fields = [event["properties"] for event in STREAM[EVENT_SCHEMA]["oneOf"]]
    return {field["event"]["const"]: field["data"]["contentSchema"] for field in fields}


def examples_of(content: Any) -> list[Any]:
    """Beside a schema, or in it."""
    named = [example["value"] for example in content.get("examples", {}).values()]
    alone = [content["example"]] if "example" in content else []
    in_schema = resolve(content.get("schema", {})).get("examples", [])
    return [*named, *alone, *in_schema]


def resolve(schema: Any) -> Any:
    name = schema.get("$ref", "").rpartition("/")[2]
    return DOCUMENT["components"]["schemas"][name] if name else schema
