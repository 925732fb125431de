"""A server answers what its OpenAPI document lets a client send, and what it does not, as it says."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case, checks
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from dragoman.bundle import open_bundle
from tests.openapi.documented import DOCUMENT, assert_fits, data_schemas, events_of, examples_of
from tests.routing.doubles import write_bundle
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator

CHECKS = [
    checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
STRICT_CHECKS = [*CHECKS, negative_data_rejection]
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
FEW, MANY = 20, 500
"""Requests to each operation, beside those that the document shows and those at the edges of its schemas."""

SHOWN = [
    (path, kind)
    for path, methods in DOCUMENT["paths"].items()
    for kind in methods.get("post", {}).get("requestBody", {}).get("content", {})
    if kind in {JSON, FORM} and "{" not in path and path != "/suggest"
]
"""Paths and kinds of bodies. One route always refuses; those of documents want one sent before."""


@schemathesis.serializer("application/x-ndjson")
def lines(_context: object, value: object) -> bytes:
    """JSON lines are a text to the document."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a server with all APIs, glossaries, and every switch on."""
    folder = tmp_path_factory.mktemp("served")
    bundle = write_bundle(folder / "models" / "tiny", "tiny-de-en")
    double = DoubleTranslator(open_bundle(bundle).manifest)
    database = f"sqlite:///{folder / 'dragoman.db'}"
    with (
        router_of(double, bundle) as router,
        ready_client(
            router, database_url=database, reload_endpoint=True, detection="on", glossaries="stored"
        ) as client,
    ):
        yield str(client.base_url)


def check(case: Case[Any], address: str) -> None:
    """DeepL's own servers, and so these routes, take null and nothing for fields that are left out."""
    is_lenient = case.operation.path.startswith("/v2/")
    case.call_and_validate(base_url=address, checks=CHECKS if is_lenient else STRICT_CHECKS)


@SCHEMA.parametrize()
@settings(max_examples=FEW, deadline=None, derandomize=True)
def test_answers_are_as_documented(case: Case[Any], address: str) -> None:
    check(case, address)


@pytest.mark.slow
@SCHEMA.parametrize()
@settings(max_examples=MANY, deadline=None, suppress_health_check=list(HealthCheck))
def test_answers_to_many_are_as_documented(case: Case[Any], address: str) -> None:
    check(case, address)


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
