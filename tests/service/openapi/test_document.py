"""The OpenAPI document says all there is to say, and a server answers as it shows."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from service.accounts.keys import Scope
from tests.service.conftest import double_server
from tests.service.keys import Keys
from tests.service.openapi.documented import (
    DOCUMENT,
    PAGE,
    assert_fits,
    data_schemas,
    events_of,
    examples_of,
    resolve,
)
from tests.service.openapi.full_document import full_document, to_text

GENERATED = {"application/json", "application/x-www-form-urlencoded", "multipart/form-data"}
"""Types of bodies that openapi-python-client generates code for."""
SCHEMA_KEYWORDS = {"type", "anyOf", "allOf", "enum", "$ref"}
METHODS = ("get", "post", "put", "patch", "delete")
PLACES = [
    (path, method) for path, methods in DOCUMENT["paths"].items() for method in methods if method in METHODS
]
OPEN = {"models", "health"}
"""Tags of routes that take no key; one of them does where it can do something."""
OPEN_ROUTES = re.compile("libretranslate_(languages|frontend_settings|health|specification|download_file)")

Operation = dict[str, Any]


def all_operations() -> list[Operation]:
    return [DOCUMENT["paths"][path][method] for path, method in PLACES]


def contents(operation: Operation) -> Iterator[tuple[str, Any]]:
    """Each body, of the request and of answers, by where it stands."""
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        yield f"request {kind}", content
    for status, response in operation["responses"].items():
        for kind, content in response.get("content", {}).items():
            yield f"{status} {kind}", content


def test_the_file_is_in_step() -> None:
    written = PAGE.read_text(encoding="utf8")

    assert written == to_text(full_document()), (
        f"write it: python -m tests.service.openapi.full_document {PAGE}"
    )


def test_a_generated_client_can_be_imported() -> None:
    """openapi-python-client 0.29 forgets an import where a required body has several types."""
    for operation in all_operations():
        body = operation.get("requestBody", {"content": {}})
        kinds = GENERATED & set(body["content"])
        assert not (body.get("required", False) and len(kinds) > 1)


def test_every_default_fits_its_schema() -> None:
    found = list(schemas_with_default(DOCUMENT))
    assert found
    for schema in found:
        assert_fits(schema["default"], schema, str(schema))


def schemas_with_default(part: object) -> Iterator[dict[str, Any]]:
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from schemas_with_default(each)
    if isinstance(part, dict) and "default" in part and SCHEMA_KEYWORDS & set(part):
        yield part


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for operation in all_operations()]

    assert len(set(names)) == len(names)
    assert [name for name in names if not re.fullmatch("[a-z][a-z_]*", name)] == []


def test_schemas_have_names_that_a_client_can_use() -> None:
    assert [name for name in DOCUMENT["components"]["schemas"] if "__" in name] == []


def test_an_operation_has_tags_a_summary_and_descriptions() -> None:
    for operation in all_operations():
        assert operation["tags"]
        assert operation["summary"]
        assert operation["description"]
        assert all(response["description"] for response in operation["responses"].values())
        assert "Successful Response" not in {each["description"] for each in operation["responses"].values()}


def test_an_operation_declares_how_keys_are_sent() -> None:
    for operation in all_operations():
        is_open = bool(OPEN & set(operation["tags"])) or OPEN_ROUTES.fullmatch(operation["operationId"])
        needs = operation.get("security", [])

        assert bool(needs) != bool(is_open) or operation["operationId"] == "reload_models"
        if needs:
            assert {} in needs, "not every server wants a key"
            known = DOCUMENT["components"]["securitySchemes"]
            assert {scheme for need in needs for scheme in need} <= set(known)


def test_a_rejection_that_may_be_retried_has_a_retry_time() -> None:
    for operation in all_operations():
        for status in {"429", "503"} & set(operation["responses"]):
            assert "Retry-After" in operation["responses"][status]["headers"]


def test_every_body_of_a_request_has_an_example_that_fits() -> None:
    for operation in all_operations():
        bodies = [(where, content) for where, content in contents(operation) if where.startswith("request")]
        assert [where for where, content in bodies if not examples_of(content)] == []

        for where, content in bodies:
            for example in examples_of(content):
                assert_fits(example, content["schema"], where)


def test_every_field_of_a_request_is_described() -> None:
    for operation in all_operations():
        for where, content in contents(operation):
            if where.startswith("request"):
                fields = resolve(content["schema"])["properties"]
                assert [name for name, field in fields.items() if not resolve(field).get("description")] == []
        for parameter in operation.get("parameters", []):
            assert parameter.get("description") or parameter["schema"].get("description"), parameter["name"]


def test_the_same_errors_have_the_same_form() -> None:
    forms = {
        (operation["tags"][0], json.dumps(content["schema"], sort_keys=True))
        for operation in all_operations()
        for where, content in contents(operation)
        if where[0] in "45"
    }

    assert len({form for _, form in forms}) == len({"native", "libretranslate", "deepl", "google", "openai"})


@contextmanager
def open_server(folder: Path) -> Iterator[str]:
    """The address of a server with all APIs and every switch on; its files are in `folder`."""
    database = f"sqlite:///{folder / 'dragoman.db'}"
    switches = {"reload_endpoint": True, "detection": "on", "suggestions": "on"}
    with double_server(folder, models_dir=folder / "models", database_url=database, **switches) as served:
        yield str(served[0].base_url)


JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART, LINES = "multipart/form-data", "application/x-ndjson"
SHOWN = [
    (path, kind)
    for path, methods in DOCUMENT["paths"].items()
    for kind in methods.get("post", {}).get("requestBody", {}).get("content", {})
    if kind in {JSON, FORM} and "{" not in path
]
"""Paths and kinds of bodies. One route wants a key, those of documents a document."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with open_server(tmp_path_factory.mktemp("served")) as opened:
        yield opened


@pytest.mark.parametrize(("path", "kind"), SHOWN)
def test_requests_that_the_document_shows_work(address: str, path: str, kind: str) -> None:
    content = DOCUMENT["paths"][path]["post"]["requestBody"]["content"][kind]
    shown = examples_of(content)
    assert shown

    for example in shown:
        response = (
            httpx.post(address + path, json=example)
            if kind == JSON
            else httpx.post(address + path, data=example)
        )
        assert response.status_code < 300, response.text


@pytest.mark.parametrize(
    ("request_body", "names"),
    [
        ({"text": "ein haus", "stream_tokens": True, "beam_size": 1}, {"tokens", "segment", "done"}),
        ({"text": ["eins\nzwei", "drei"], "return_scores": False}, {"segment", "done"}),
        ({"text": ["eins", "slow late"]}, {"segment", "error"}),
    ],
)
def test_data_of_events_are_as_documented(
    address: str, request_body: dict[str, Any], names: set[str]
) -> None:
    response = httpx.post(f"{address}/v1/translate/stream", json={"source": "de", **request_body})
    events = events_of(response.text)

    assert {event["event"] for event in events} == names
    for event in events:
        assert_fits(json.loads(event["data"]), data_schemas()[event["event"]], event["event"])


TRANSLATIONS = {
    "translate", "translate_stream", "score", "detect",
    "libretranslate_translate", "libretranslate_detect_language", "libretranslate_translate_file",
    "deepl_translate_posted", "deepl_upload", "deepl_status", "deepl_result",
    "google_translate_posted", "google_detect_posted", "google_languages_posted", "deepl_languages_posted",
    "openai_chat_completions",
}  # fmt: skip
"""Routes that keep nothing but files to fetch. Those of DeepL ignore fields that newer clients send."""
CHANGES = [
    (method, path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if method in {"post", "put", "patch", "delete"} and operation["operationId"] not in TRANSLATIONS
]
UNKNOWN = "dictionaries_of_the_future"


class Server(NamedTuple):
    client: httpx.Client
    ids: dict[str, str]
    """Of stored data, by the name of the parameter of a path."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("changes")
    with open_server(folder) as address:
        key = Keys(f"sqlite:///{folder / 'dragoman.db'}").make(*Scope)
        with httpx.Client(base_url=address, headers={"X-API-Key": key}) as client:
            yield Server(client, dict(_stored(client)))


def _stored(client: httpx.Client) -> Iterator[tuple[str, str]]:
    terms = {"source": "de", "target": "en", "entries": [{"source": "Hund", "target": "dog"}]}
    made = client.post("/v1/glossaries", json={"name": "a", "dictionaries": [terms]})
    yield "glossary_id", made.json()["id"]
    pairs = [{"source": "Hund", "target": "dog"}]
    made = client.post("/v1/memories", json={"name": "a", "source": "de", "target": "en", "pairs": pairs})
    memory_id = made.json()["id"]
    yield "memory_id", memory_id
    yield "translation_memory_id", memory_id
    yield "pair_id", client.get(f"/v1/memories/{memory_id}/pairs").json()["pairs"][0]["id"]
    made = client.post("/v1/jobs", files={"file": ("a.txt", b"Hund")}, data={"source": "de", "target": "en"})
    yield "job_id", made.json()["id"]
    yield "name", "tiny"


def _bodies(operation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Every kind of body that the document shows, with an unknown field in the body or in the URL."""
    kinds = operation.get("requestBody", {}).get("content", {})
    for kind, content in kinds.items():
        for example in examples_of(content):
            if kind == LINES:
                yield {"content": example, "headers": {"Content-Type": kind}, "params": {UNKNOWN: "1"}}
                continue
            fields = {**example, UNKNOWN: "1"}
            if kind == MULTIPART:
                file = fields.pop("file", "")
                yield {"data": fields, "files": {"file": ("letter.txt", str(file).encode())}}
            elif kind == JSON:
                yield {"content": json.dumps(fields), "headers": {"Content-Type": kind}}
                yield {"json": example, "params": {UNKNOWN: "1"}}
            else:
                yield {"data": fields}
    if not kinds:
        needed = {each["name"]: "de" for each in operation.get("parameters", []) if each["in"] == "query"}
        yield {"params": {**needed, UNKNOWN: "1"}}


@pytest.mark.parametrize(
    ("method", "path", "operation"), CHANGES, ids=[each[2]["operationId"] for each in CHANGES]
)
def test_a_change_with_an_unknown_field_is_rejected(
    server: Server, method: str, path: str, operation: dict[str, Any]
) -> None:
    bodies = list(_bodies(operation))
    assert bodies
    for body in bodies:
        response = server.client.request(method.upper(), path.format_map(server.ids), **body)
        assert response.status_code in {400, 422}, f"{body}: {response.status_code} {response.text}"
        assert UNKNOWN in response.text


def test_every_change_is_listed() -> None:
    """A new route is either a translation or a change; this fails if a name of a translation is outdated."""
    served = {
        operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()
    }
    assert served >= TRANSLATIONS
