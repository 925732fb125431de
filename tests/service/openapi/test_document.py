"""The OpenAPI document says all there is to say, shows it, and docs/reference/openapi.json has it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from tests.service.openapi.documented import DOCUMENT, PAGE, assert_fits, examples_of, resolve
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
