"""A server answers what its OpenAPI document lets a client send, and what it does not, as it says.

Schemathesis takes seconds to import, so these tests are apart from those of the same document.
"""

from typing import Any

import httpx
import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case, checks
from schemathesis.specs.openapi import checks as openapi
from schemathesis.specs.openapi.definitions import OPENAPI_31

from tests.examples import FEW, FEWEST
from tests.service.openapi.documented import DOCUMENT
from tests.service.openapi.test_document import address

__all__ = ["address"]

CHECKS = [
    checks.not_a_server_error,
    openapi.status_code_conformance, openapi.content_type_conformance, openapi.unsupported_method,
    openapi.response_headers_conformance, openapi.response_schema_conformance,
]  # fmt: skip
STRICT_CHECKS = [*CHECKS, openapi.negative_data_rejection]
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
SCHEMA.config.phases.coverage.enabled = FEW > FEWEST  # the edges of the schemas are most of the requests


@schemathesis.serializer("application/x-ndjson")
def lines(_context: object, value: object) -> bytes:
    """JSON lines are a text to the document."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


TIMEOUT_S = 120
"""Longer than any request takes on a busy machine."""
MANY = 500
"""Requests to each operation, beside those that the document shows and those at the edges of its schemas."""


def check(case: Case[Any], address: str) -> None:
    """Send a request and check its answer.

    DeepL's own servers, and so these routes, take null and nothing for fields that are left out.
    """
    is_lenient = case.operation.path.startswith(("/v2/", "/v3/"))
    response = case.call(base_url=address, timeout=TIMEOUT_S)
    is_too_large = response.status_code == httpx.codes.REQUEST_ENTITY_TOO_LARGE  # Schemathesis expects others
    case.validate_response(response, checks=CHECKS if is_lenient or is_too_large else STRICT_CHECKS)


@SCHEMA.parametrize()
@settings(max_examples=FEW, derandomize=True)
def test_answers_are_as_documented(case: Case[Any], address: str) -> None:
    check(case, address)


@pytest.mark.slow
@SCHEMA.parametrize()
@settings(max_examples=MANY, suppress_health_check=list(HealthCheck))
def test_answers_to_many_are_as_documented(case: Case[Any], address: str) -> None:
    check(case, address)


def test_the_document_is_valid_openapi() -> None:
    validator = jsonschema_rs.Draft202012Validator(OPENAPI_31)
    assert [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(DOCUMENT)] == []
