"""Requests are validated by the models that document them, without the framework's dependencies."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Request
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from service.http.errors import ApiError, ErrorForms, install_error_handlers
from service.http.fields import MAX_OBJECT_FIELDS, Fields
from service.http.json_route import JsonRoute
from service.http.validation import Count, Flag, Records, Texts, read_records
from tests.service.openapi.full_document import full_app


class AwaitedSegment(BaseModel):
    """A body."""

    model_config = ConfigDict(extra="forbid", strict=True)
    text: str | list[str]
    count: int = Field(default=1, ge=1)


class EchoResponse(BaseModel):
    """An answer, of which a part may be left unset."""

    text: str | list[str]
    count: int = 0


async def tell(requested: AwaitedSegment, _connection: Request) -> EchoResponse:
    if requested.count > 1:
        return EchoResponse(text=requested.text, count=requested.count)
    return EchoResponse(text=requested.text)


def _app() -> FastAPI:
    app = FastAPI(strict_content_type=False)
    install_error_handlers(app, ErrorForms())
    app.router.route_class = JsonRoute
    app.add_api_route("/direct", tell, methods=["POST"], response_model_exclude_unset=True)
    return app


APP = _app()
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
bodies = st.fixed_dictionaries({}, optional={"text": values, "count": values, "more": values}) | values


async def ask(body: bytes) -> httpx.Response:
    transport, headers = httpx.ASGITransport(APP), {"Content-Type": "application/json"}
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
        return await client.post("/direct", content=body)


@given(bodies.map(json.dumps).map(str.encode))
@example(b"")
@example(b"{")
@example(b'{"text": "a"} x')
@example(b"\xff\xfe{")
@example(b"[" * 100_000)
def test_any_body_gets_what_the_model_makes_of_it_or_an_error(body: bytes) -> None:
    response = asyncio.run(ask(body))
    try:
        sent = AwaitedSegment.model_validate_json(body)
    except ValidationError:
        assert (response.status_code, bool(response.json()["error"]["message"])) in {(400, True), (422, True)}
    else:
        assert response.json() == sent.model_dump(exclude={"count"} if sent.count <= 1 else None)


MANY = 1000
COLLECTIONS = frozenset({"list", "dict", "set", "frozenset", "tuple", "generator"})


def request_models(routes: Sequence[object]) -> Iterator[type[BaseModel]]:
    """Every model by which pydantic reads the body of a route or of a router's."""
    for route in routes:
        if isinstance(route, JsonRoute):
            yield route._model()
        yield from request_models(getattr(getattr(route, "original_router", None), "routes", ()))


MODELS = sorted({*request_models(full_app().routes)}, key=lambda model: model.__name__)


def collections(schema: object, name: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every collection of a schema, also within unions and models, with the names on the way to it."""
    if isinstance(schema, dict):
        if isinstance(schema.get("type"), str) and schema["type"] in COLLECTIONS:
            yield name, schema
        for key, inner in schema.items():
            if key not in {"metadata", "serialization"}:
                yield from collections(inner, f"{name}.{key}")
    elif isinstance(schema, list | tuple):
        for inner in schema:
            yield from collections(inner, name)


def test_all_requests_are_known() -> None:
    assert {"TranslateRequest", "ScoreRequest", "ChatCompletionRequest"} <= {one.__name__ for one in MODELS}


@pytest.mark.parametrize("model", MODELS)
def test_every_collection_of_a_request_is_bounded_and_ends_at_its_first_error(model: type[BaseModel]) -> None:
    unbounded = [
        name
        for name, schema in collections(model.__pydantic_core_schema__)
        # Pydantic reads all of a dictionary, so it must be short.
        if schema.get("max_length") is None
        or not (schema.get("fail_fast") or (schema["type"] == "dict" and schema["max_length"] <= 100))
    ]
    assert unbounded == []


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("item", [{}, "", 1, None, []], ids=repr)
def test_many_wrong_items_are_few_errors(model: type[BaseModel], item: object) -> None:
    nested = [{"source": "a", "targets": [item] * MANY, "content": [item] * MANY}]
    mapped = {str(number): item for number in range(MAX_OBJECT_FIELDS)}
    for value in ([item] * MANY, nested, mapped):
        with pytest.raises(ValidationError) as caught:
            model.model_validate(dict.fromkeys(model.model_fields, value) | {"unknown": value})
        assert caught.value.error_count() < MANY


def test_a_route_without_a_body_model_is_rejected_at_declaration() -> None:
    async def take_nothing() -> EchoResponse:
        return EchoResponse(text="")

    with pytest.raises(TypeError, match="has no model"):
        JsonRoute("/direct", take_nothing, methods=["POST"])


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str


class Sent(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: Texts
    """Any texts."""
    title: str = ""
    flag: Flag = False
    count: Count = Field(0, ge=0, le=9)
    items: Records[Item] = Field([])
    listed: list[Item] = Field([], fail_fast=True)


KNOWN = "text, title, flag, count, items, listed"


def problems_of(fields: Fields) -> dict[str, str]:
    with pytest.raises(ApiError) as rejected:
        fields.read(Sent)
    return {each.field: each.problem for each in rejected.value.fields}


@pytest.mark.parametrize("flag", [True, "1", "true", "ON", "yes"])
@pytest.mark.parametrize("count", [7, "7", " 7 "])
def test_json_and_strings_have_the_same_values(flag: object, count: object) -> None:
    sent = Fields(json={"text": "a", "flag": flag, "count": count}).read(Sent)

    assert (sent.text, sent.flag, sent.count) == ("a", True, 7)


def test_a_repeated_field_of_a_form_is_a_list_where_texts_are_expected_and_nowhere_else() -> None:
    assert Fields(form={"text": ["a", ""]}).read(Sent).text == ["a", ""]
    repeated = Fields(form={"text": ["a"], "title": ["b", "c"], "count": ["1", "2"]})
    assert problems_of(repeated) == dict.fromkeys(("title", "count"), "occurs 2 times; send it once")


def test_null_and_empty_strings_are_missing_but_texts_may_be_empty() -> None:
    sent = Fields(json={"text": "", "count": None}, form={"title": [""]}).read(Sent)

    assert (sent.text, sent.title, sent.count) == ("", "", 0)
    assert problems_of(Fields(json={"text": None})) == {"text": "is missing"}


@pytest.mark.parametrize(
    ("json", "problems"),
    [
        ({"flag": 1, "count": True}, {"flag": "must be true or false", "count": "must be a whole number"}),
        ({"count": "9" * 19, "title": 1}, {"count": "must be a whole number", "title": "must be a string"}),
        ({"count": "", "flag": ""}, {"count": "must be a whole number", "flag": "must be true or false"}),
        ({"count": 10}, {"count": "must be at most 9"}),
        ({"text": ["a", 1, 2]}, {"text[1]": "must be a string"}),
        ({"text": {}}, {"text": "must be a string or an array of strings"}),
        ({"more": 1}, {"more": f"is not known; known are {KNOWN}"}),
        ({"": None, "more": ""}, dict.fromkeys(("body", "more"), f"is not known; known are {KNOWN}")),
        ({"listed": [{}] * 9}, {"listed[0].name": "is missing"}),
        ({"listed": [{"name": "a", "x": 1}, 1]}, {"listed[0].x": "is not known"}),
        ({"items": {}}, {"items": "must be an array"}),
    ],
)
def test_an_error_names_the_item_the_field_and_the_limit(
    json: dict[str, object], problems: dict[str, str]
) -> None:
    assert problems_of(Fields(json={"text": "a", **json})) == problems


def test_records_are_validated_only_when_they_are_reached() -> None:
    sent = Fields(json={"text": "a", "items": [{"name": "a"}, {"name": 1}, {}]}).read(Sent)

    records = read_records(sent.items, "items")

    assert next(records).name == "a"
    with pytest.raises(ApiError) as rejected:
        next(records)
    assert [each.field for each in rejected.value.fields] == ["items[1].name"]
