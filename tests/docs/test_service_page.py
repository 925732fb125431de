"""docs/reference/service.md keeps step with the code."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from service.api.native.requests import (
    DetectRequest,
    SamplingIn,
    ScoreRequest,
    StreamRequest,
    TranslateRequest,
)
from service.api.native.responses import SegmentEvent, TokensEvent, TranslationOut
from service.http.errors import STATUSES
from service.openapi import full_document

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "service.md").read_text(encoding="utf8")
NAMES = re.compile(r"`([a-z_]+)`")
FOREIGN = re.compile(r"libretranslate|deepl")


def section(heading: str) -> str:
    """What stands below a heading, up to the next one."""
    return PAGE.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]


def rows(*, head: str, heading: str) -> list[list[str]]:
    """Cells of a section's table whose first column's head is this, without its head."""
    table = re.search(rf"\n\| {re.escape(head)} \|[^\n]*\n\|[-| ]*\n((?:\|[^\n]*\n)+)", section(heading))
    assert table is not None, f"{heading} has no table of {head}"
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[1].splitlines()]


def names_in(table: list[list[str]]) -> set[str]:
    return {name for cells in table for name in NAMES.findall(cells[0])}


def shown(field: FieldInfo) -> str:
    """A default as JSON has it."""
    if field.default is PydanticUndefined:
        return ""
    special = {"None": "null", "True": "true", "False": "false", "": '""'}
    return special.get(str(field.default), str(field.default))


FIELDS = [
    ("Translating", "field", TranslateRequest, ()),
    ("Translating", "field of `sampling`", SamplingIn, ()),
    ("Streaming", "field", StreamRequest, tuple(TranslateRequest.model_fields)),
    ("Scoring", "field", ScoreRequest, ()),
    ("Detecting", "field", DetectRequest, ()),
]


@pytest.mark.parametrize(("heading", "head", "model", "told_elsewhere"), FIELDS)
def test_every_field_of_a_request_is_on_the_page_with_its_default(
    heading: str, head: str, model: type[BaseModel], told_elsewhere: tuple[str, ...]
) -> None:
    table = rows(head=head, heading=heading)
    fields = {name: field for name, field in model.model_fields.items() if name not in told_elsewhere}
    defaults = {name: cells[1] for cells in table for name in NAMES.findall(cells[0])}

    assert defaults == {name: shown(field) for name, field in fields.items()}


def test_every_field_of_a_translation_is_on_the_page() -> None:
    table = re.findall(r"\n\| field \| meaning \|\n\|[-| ]*\n((?:\|[^\n]*\n)+)", section("Translating"))

    told = {name for line in table[0].splitlines() for name in NAMES.findall(line.split("|")[1])}
    assert told == set(TranslationOut.model_fields)


@pytest.mark.parametrize(("name", "event"), [("segment", SegmentEvent), ("tokens", TokensEvent)])
def test_every_field_of_an_event_is_on_the_page(name: str, event: type[BaseModel]) -> None:
    told = {cells[0].strip("`"): cells[1] for cells in rows(head="event", heading="Streaming")}

    assert set(NAMES.findall(told[name])) == set(event.model_fields)


def test_every_event_is_on_the_page() -> None:
    responses = full_document()["paths"]["/v1/translate/stream"]["post"]["responses"]
    events = responses["200"]["content"]["text/event-stream"]["itemSchema"]["oneOf"]

    known = {event["properties"]["event"]["const"] for event in events}
    assert names_in(rows(head="event", heading="Streaming")) == known


def test_every_kind_of_error_is_on_the_page_with_its_status() -> None:
    documented = {
        kind: int(status)
        for cells in rows(head="status", heading="Errors")
        for kind, status in zip(NAMES.findall(cells[1]), re.findall(r"\d+", cells[0]), strict=True)
    }

    assert documented == {kind.value: status for kind, status in STATUSES.items()}


def test_every_route_is_on_the_page() -> None:
    told = set(re.findall(r"\n\| `([A-Z]+ /[^`]*)`", PAGE.split("\n## ", 1)[0]))

    assert told == set(_own_routes())


def _own_routes() -> Iterator[str]:
    for path, methods in full_document()["paths"].items():
        for method, operation in methods.items():
            if not FOREIGN.search(" ".join(operation["tags"])):
                yield f"{method.upper()} {path}"
