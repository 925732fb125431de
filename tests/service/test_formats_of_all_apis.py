"""Files of every format through each API and the command, and no file is parsed in the server."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from subprocess import Popen
from typing import Any
from zipfile import is_zipfile

import httpx
import pytest

from service.formats import isolation, records
from service.formats.plain_text import PlainTextFormat
from service.formats.registry import SUFFIXES, output_name
from tests.engine.routing.doubles import until, write_bundle
from tests.formats.fuzz.seeds import FILES
from tests.formats.rewriting import unpack
from tests.jobs.conftest import run_job
from tests.paths import ROOT
from tests.service.conftest import DOUBLE_COMMAND, double_server
from tests.service.test_memories_over_http import TMX

DEEPL_KEY = {"Authorization": "DeepL-Auth-Key any"}


def name_of(suffix: str) -> str:
    """A name of its own, also for what the file is written as."""
    return f"as-{suffix.removeprefix('.')}{suffix}"


def content_of(suffix: str) -> bytes:
    """A file of a format, without letters that the bundle's vocabulary lacks: the server's double has all."""
    content: bytes = FILES[suffix][0]
    return content if suffix != ".txt" else content.replace("ä字😀".encode(), b"x")


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `dragoman batch` makes of one with a file of each format."""
    folder = tmp_path_factory.mktemp("batch")
    write_bundle(folder / "models" / "tiny", "tiny-de-en")
    (folder / "in").mkdir()
    for suffix in FILES.keys() & set(SUFFIXES):
        (folder / "in" / name_of(suffix)).write_bytes(content_of(suffix))
    command = [sys.executable, str(DOUBLE_COMMAND), "batch", "in", "-o", "out"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DRAGOMAN_MODELS_DIR": str(folder / "models")}
    subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
    return folder / "out"


def job_result(http: httpx.Client, name: str, content: bytes) -> bytes:
    job = run_job(http, content, name)
    assert (job["state"], job["progress"]["failed"]) == ("done", 0), job
    return http.get(f"/v1/jobs/{job['id']}/result").content


def deepl_result(http: httpx.Client, name: str, content: bytes) -> bytes:
    fields = {"source_lang": "DE", "target_lang": "EN", "output_format": Path(output_name(name)).suffix[1:]}
    sent = http.post("/v2/document", data=fields, files={"file": (name, content)}, headers=DEEPL_KEY)
    assert sent.status_code == 200, sent.text
    path, key = f"/v2/document/{sent.json()['document_id']}", {"document_key": sent.json()["document_key"]}
    until(lambda: http.post(path, json=key, headers=DEEPL_KEY).json()["status"] in {"done", "error"})
    result = http.post(f"{path}/result", json=key, headers=DEEPL_KEY)
    assert result.status_code == 200, result.text
    return result.content


def libretranslate_result(http: httpx.Client, name: str, content: bytes) -> bytes:
    languages = {"source": "de", "target": "en"}
    sent = http.post("/translate_file", data=languages, files={"file": (name, content)})
    assert sent.status_code == 200, sent.text
    return http.get(sent.json()["translatedFileUrl"]).content


def members(content: bytes) -> bytes | dict[str, bytes]:
    """The file, or what is in an archive: its members have the times at which they were written."""
    return unpack(content) if is_zipfile(BytesIO(content)) else content


@pytest.mark.parametrize(
    ("translate", "suffix"),
    [
        *((job_result, suffix) for suffix in sorted(FILES.keys() & set(SUFFIXES))),
        *((deepl_result, suffix) for suffix in (".txt", ".docx")),
        *((libretranslate_result, suffix) for suffix in (".txt", ".docx")),
    ],
)
def test_each_api_and_every_format_are_translated_as_the_command_does(
    client: httpx.Client, batch: Path, translate: Callable[[httpx.Client, str, bytes], bytes], suffix: str
) -> None:
    name, content = name_of(suffix), content_of(suffix)

    result = translate(client, name, content)

    assert members(result) == members((batch / output_name(name)).read_bytes())
    assert members(result) != members(content)


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
    with double_server(tmp_path_factory.mktemp("server")) as (found, _):
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
