"""A server to send requests to that the OpenAPI document describes, and what is checked of its answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis import Case, checks
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from tests.openapi.documented import DOCUMENT
from tests.service.conftest import double_server

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


@schemathesis.serializer("application/x-ndjson")
def lines(_context: object, value: object) -> bytes:
    """JSON lines are a text to the document."""
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")


@contextmanager
def open_server(folder: Path) -> Iterator[str]:
    """The address of a server with all APIs and every switch on; its files are in `folder`."""
    database = f"sqlite:///{folder / 'dragoman.db'}"
    switches = {"reload_endpoint": True, "admin_api": True, "detection": "on", "suggestions": "on"}
    with double_server(folder, models_dir=folder / "models", database_url=database, **switches) as served:
        yield str(served[0].base_url)


def check(case: Case[Any], address: str) -> int:
    """Send a request and check its answer, whose status is returned.

    DeepL's own servers, and so these routes, take null and nothing for fields that are left out.
    """
    is_lenient = case.operation.path.startswith(("/v2/", "/v3/"))
    checked = CHECKS if is_lenient else STRICT_CHECKS
    return case.call_and_validate(base_url=address, checks=checked).status_code
