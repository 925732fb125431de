"""The pages about the HTTP API in docs/reference agree with the code, and links in docs lead somewhere."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from dragoman import FinishReason
from service.api.native.models import ModelOut, ReachOut, ReloadResponse
from service.api.native.requests import (
    DetectRequest,
    SamplingIn,
    ScoreRequest,
    StreamRequest,
    TranslateRequest,
)
from service.api.native.responses import DetectedOut, ScoreOut, SegmentEvent, TokensEvent, TranslationOut
from service.http.errors import ErrorBody, ErrorKind
from tests.paths import ROOT
from tests.service.openapi.documented import DOCUMENT

REFERENCE = ROOT / "docs" / "reference"
API, MORE, MODELS = "http-api.md", "http-endpoints.md", "models.md"
ERRORS = "errors.md"
ENDPOINTS = [(API, "HTTP API"), (MORE, "Glossaries"), (MORE, "Translation memories")]
"""Pages that list endpoints, with the heading above the list."""
MAX_WORDS = 1200
NAMES = re.compile(r"`([a-z_]+)`")
FOREIGN = re.compile(r"libretranslate|deepl|google|openai")
TABLE = re.compile(r"^\|(?P<head>[^\n]*)\|\n\|[-| ]*\n(?P<rows>(?:\|[^\n]*\n)+)", re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")
DOC_PATH = re.compile(r"docs/[a-z]+/[a-z0-9/-]+\.md")
CODE = re.compile(r"^(```|~~~).*?^\1|^ {4}[^\n]*$", re.MULTILINE | re.DOTALL)
LINKING = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMING = [
    ROOT / "CHANGELOG.md",
    *(
        path
        for package in ("bench", "dragoman", "export", "service", "tests", "training")
        for path in sorted((ROOT / package).rglob("*.py"))
    ),
]


def section(page: str, heading: str) -> str:
    """Return the text below a heading, up to the next heading of its level or above."""
    content = (REFERENCE / page).read_text(encoding="utf8")
    found = re.search(rf"^(#+) {re.escape(heading)}\n", content, re.MULTILINE)
    assert found is not None, f"{page} has no heading {heading}"
    return re.split(rf"^#{{1,{len(found[1])}}} ", content[found.end() :], maxsplit=1, flags=re.MULTILINE)[0]


def rows(page: str, heading: str, head: str) -> list[list[str]]:
    """Return the cells of the section's first table whose first column has this head, without the head."""
    for table in TABLE.finditer(section(page, heading)):
        if _cells(table["head"])[0] == head:
            return [_cells(line) for line in table["rows"].splitlines()]
    raise AssertionError(f"{page}, {heading}: no table of {head}")


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def names_in(table: list[list[str]]) -> set[str]:
    return {name for cells in table for name in NAMES.findall(cells[0])}


def shown(field: FieldInfo) -> str:
    """Return a default as JSON has it."""
    if field.default is PydanticUndefined:
        return ""
    special = {"None": "null", "True": "true", "False": "false", "": '""'}
    return special.get(str(field.default), str(field.default))


REQUESTS = [
    (API, "Translate", "field", TranslateRequest, ()),
    (API, "Sampling", "field of `sampling`", SamplingIn, ()),
    (MORE, "Streaming translations", "field", StreamRequest, tuple(TranslateRequest.model_fields)),
    (MORE, "Score", "field", ScoreRequest, ()),
    (MORE, "Detect", "field", DetectRequest, ()),
]


@pytest.mark.parametrize(("page", "heading", "head", "model", "inherited"), REQUESTS)
def test_every_field_of_a_request_is_documented_with_its_default(
    page: str, heading: str, head: str, model: type[BaseModel], inherited: tuple[str, ...]
) -> None:
    table = rows(page, heading, head)
    fields = {name: field for name, field in model.model_fields.items() if name not in inherited}
    defaults = {name: cells[1] for cells in table for name in NAMES.findall(cells[0])}

    assert defaults == {name: shown(field) for name, field in fields.items()}


def _events() -> set[str]:
    responses = DOCUMENT["paths"]["/v1/translate/stream"]["post"]["responses"]
    events = responses["200"]["content"]["text/event-stream"]["x-item-schema"]["oneOf"]
    return {event["properties"]["event"]["const"] for event in events}


NAMED = [
    (API, "Response", "field", set(TranslationOut.model_fields)),
    (API, "Response", "`finish_reason`", {reason.value for reason in FinishReason}),
    (MORE, "Events", "event", _events()),
    (MORE, "Events", "field", set(SegmentEvent.model_fields)),
    (MORE, "Score", "field of `scores`", set(ScoreOut.model_fields)),
    (MORE, "Detect", "field of `detections`", set(DetectedOut.model_fields)),
    (MODELS, "List models", "field of `models`", set(ModelOut.model_fields)),
    (MODELS, "List languages", "field of `reaches`", set(ReachOut.model_fields)),
    (MODELS, "Reload models", "field of the response", set(ReloadResponse.model_fields)),
    (ERRORS, "Errors", "field", set(ErrorBody.model_fields)),
]


@pytest.mark.parametrize(("page", "heading", "head", "names"), NAMED)
def test_every_field_of_a_response_finish_reason_and_event_is_documented(
    page: str, heading: str, head: str, names: set[str]
) -> None:
    assert names_in(rows(page, heading, head)) == names


@pytest.mark.parametrize(("name", "event"), [("segment", SegmentEvent), ("tokens", TokensEvent)])
def test_every_field_of_an_event_is_documented(name: str, event: type[BaseModel]) -> None:
    data = {cells[0].strip("`"): cells[1] for cells in rows(MORE, "Events", "event")}

    assert set(NAMES.findall(data[name])) == set(event.model_fields)


def test_every_kind_of_error_is_documented_with_its_status() -> None:
    documented = {
        kind: int(status)
        for cells in rows(ERRORS, "Kinds", "status")
        for kind, status in zip(NAMES.findall(cells[1]), re.findall(r"\d+", cells[0]), strict=True)
    }

    assert documented == {kind.value: kind.status for kind in ErrorKind}


def test_every_route_is_documented() -> None:
    documented = [
        cells[0].strip("`") for page, heading in ENDPOINTS for cells in rows(page, heading, "endpoint")
    ]

    assert sorted(documented) == sorted(_own_routes())


def _own_routes() -> Iterator[str]:
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            if not FOREIGN.search(" ".join(operation["tags"])):
                yield f"{method.upper()} {path}"


def test_pages_outside_reports_are_short() -> None:
    words = {
        path.name: len(path.read_text(encoding="utf8").split())
        for path in LINKING
        if "reports" not in path.parts
    }

    assert {name: count for name, count in words.items() if count > MAX_WORDS} == {}


def test_links_lead_to_files_and_headings() -> None:
    assert [
        f"{page.name}: {path}#{anchor}"
        for page in LINKING
        for path, anchor in LINK.findall(CODE.sub("", page.read_text(encoding="utf8")))
        if not _exists(page, path, anchor)
    ] == []


def _exists(page: Path, path: str, anchor: str) -> bool:
    target = (page.parent / path).resolve() if path else page
    return target.exists() and (not anchor or anchor in _anchors(target))


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = HEADING.findall(page.read_text(encoding="utf8"))
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def test_code_and_changelog_name_existing_pages() -> None:
    missing = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in NAMING
        for name in DOC_PATH.findall(path.read_text(encoding="utf8"))
        if not (ROOT / name).is_file()
    }

    assert sorted(missing) == []
