"""A server answers what its OpenAPI document lets a client send, and what it does not, as it says."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from schemathesis import Case

from tests.openapi.conformance import SCHEMA, check, open_server
from tests.openapi.documented import DOCUMENT, assert_fits, data_schemas, events_of, examples_of

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
FEW, MANY = 20, 500
"""Requests to each operation, beside those that the document shows and those at the edges of its schemas."""

SHOWN = [
    (path, kind)
    for path, methods in DOCUMENT["paths"].items()
    for kind in methods.get("post", {}).get("requestBody", {}).get("content", {})
    if kind in {JSON, FORM} and "{" not in path and path != "/v1/admin/models"
]
"""Paths and kinds of bodies. One route wants a key, those of documents a document."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with open_server(tmp_path_factory.mktemp("served")) as opened:
        yield opened


@SCHEMA.parametrize()
@settings(max_examples=FEW, derandomize=True)
def test_answers_are_as_documented(case: Case[Any], address: str) -> None:
    check(case, address)


@pytest.mark.slow
@SCHEMA.parametrize()
@settings(max_examples=MANY, suppress_health_check=list(HealthCheck))
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
