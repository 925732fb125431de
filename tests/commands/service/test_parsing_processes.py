"""No file is parsed in the server's process."""

from collections.abc import Iterator
from subprocess import Popen
from typing import Any

import httpx
import pytest

from service.formats import isolation, records
from service.formats.plain_text import PlainTextFormat
from tests.service.conftest import double_server
from tests.service.test_memories_over_http import TMX

TEXT = ("a.txt", b"ein Hund\n")
LANGUAGES = {"source": "de", "target": "en"}
TERMS = ("a.csv", b"Hund,dog\n")
JSON_GLOSSARY = {
    "name": "x",
    "dictionaries": [{**LANGUAGES, "entries": [{"source": "Katze", "target": "cat"}]}],
}
ROUTES: dict[tuple[str, str], tuple[dict[str, str], tuple[str, bytes]]] = {
    ("post", "/v1/jobs"): (LANGUAGES, TEXT),
    ("post", "/v1/memories"): ({"name": "x", **LANGUAGES}, ("a.tmx", TMX.encode())),
    ("post", "/v1/memories/{memory_id}/pairs"): ({}, ("a.tmx", TMX.encode())),
    ("post", "/v1/glossaries"): ({"name": "x", **LANGUAGES}, TERMS),
    ("put", "/v1/glossaries/{glossary_id}"): ({"name": "x", **LANGUAGES}, TERMS),
    ("put", "/v1/glossaries/{glossary_id}/dictionaries"): (LANGUAGES, TERMS),
    ("post", "/v2/document"): ({"source_lang": "DE", "target_lang": "EN"}, TEXT),
    ("post", "/translate_file"): (LANGUAGES, TEXT),
}
"""Fields and a file for each route that takes one."""


@pytest.fixture(scope="module")
def isolating(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with double_server(tmp_path_factory.mktemp("server"), file_isolation="on") as (found, _):
        found.headers["Authorization"] = "DeepL-Auth-Key any"
        yield found


def _takes_a_file(operation: dict[str, Any], schemas: dict[str, Any]) -> bool:
    content = operation.get("requestBody", {}).get("content", {}).get("multipart/form-data", {})
    schema = content.get("schema", {})
    schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    properties = schema.get("properties", {}).values()
    return any(each.get("format") == "binary" or "contentMediaType" in each for each in properties)


def test_the_routes_that_take_files_are_all_tested_here(isolating: httpx.Client) -> None:
    described = isolating.get("/openapi.json").json()
    found = {
        (method, path)
        for path, operations in described["paths"].items()
        for method, operation in operations.items()
        if _takes_a_file(operation, described["components"]["schemas"])
    }
    assert found == ROUTES.keys()


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_a_route_leaves_the_parsing_to_a_process_of_its_own(
    isolating: httpx.Client, method: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a file is parsed in the server's process")

    started: list[int] = []
    start = isolation._start_reader

    def count(source: int) -> Popen[bytes]:
        started.append(source)
        return start(source)

    monkeypatch.setattr(isolation, "_start_reader", count)
    for kind in records.RecordKind:
        monkeypatch.setitem(records._PARSERS, kind, fail)
    monkeypatch.setattr(PlainTextFormat, "read", fail)
    monkeypatch.setattr(PlainTextFormat, "write", fail)
    fields, file = ROUTES[method, path]
    memory = isolating.post("/v1/memories", json={"name": "x", **LANGUAGES, "pairs": []}).json()
    glossary = isolating.post("/v1/glossaries", json=JSON_GLOSSARY).json()

    sent = isolating.request(
        method,
        path.format(memory_id=memory["id"], glossary_id=glossary["id"]),
        data=fields,
        files={"file": file},
    )

    assert sent.is_success, sent.text
    assert started
