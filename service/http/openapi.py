"""Parts of the OpenAPI document that FastAPI cannot derive: errors, keys, and requests that routes parse."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar

from fastapi import APIRouter, Security
from fastapi.params import Depends
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, APIKeyQuery, HTTPBearer
from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from service.http.errors import ErrorKind, ErrorResponse

Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
OCTETS = "application/octet-stream"
EVENTS = "text/event-stream"
EVENT_SCHEMA = "x-item-schema"
"""Extension of OpenAPI with the schema of each event of a stream."""
BINARY: Mapping[str, Any] = {"type": "string", "contentMediaType": OCTETS}
KEY_FIELDS = frozenset({"key", "auth_key", "api_key"})
"""Fields with API keys."""
SCHEMA = "#/components/schemas/{model}"
"""Path of the schemas of responses in the document."""

KEY_ERRORS = (
    ErrorKind.UNAUTHENTICATED,
    ErrorKind.FORBIDDEN,
    ErrorKind.RATE_LIMITED,
    ErrorKind.STORE_UNAVAILABLE,
    ErrorKind.INTERNAL,
)
"""Kinds that every route with API keys may return."""
BODY_ERRORS = (
    ErrorKind.MALFORMED,
    ErrorKind.CLIENT_TIMEOUT,
    ErrorKind.TOO_LARGE,
    ErrorKind.UNSUPPORTED_MEDIA_TYPE,
    ErrorKind.INVALID_INPUT,
)
"""Kinds that every route with a body may return."""
TEXT_ERRORS = (*KEY_ERRORS, *BODY_ERRORS, ErrorKind.QUOTA_EXCEEDED, ErrorKind.OVERLOADED)
"""Kinds that every route may return that analyses texts."""
MODEL_ERRORS = (*TEXT_ERRORS, ErrorKind.NO_ROOM, ErrorKind.NOT_READY, ErrorKind.TIMEOUT)
"""Kinds that every route may return that runs a model."""

_RETRY_AFTER: Mapping[str, Any] = {
    "description": "Seconds after which to retry; absent if the month's quota is used up.",
    "schema": {"type": "integer", "minimum": 1},
}
_CHALLENGE: Mapping[str, Any] = {"description": "How to send a key.", "schema": {"type": "string"}}
HEADERS: Mapping[int | str, Mapping[str, Any]] = {
    401: {"WWW-Authenticate": _CHALLENGE},
    429: {"Retry-After": _RETRY_AFTER},
    503: {"Retry-After": _RETRY_AFTER},
}
"""Headers of error responses, by status."""

BEARER = HTTPBearer(
    scheme_name="Bearer",
    description="`Authorization: Bearer KEY`, if the server requires a key; `dragoman keys create` creates "
    "one.",
    auto_error=False,
)


def key_scheme(
    kind: type[APIKeyHeader | APIKeyQuery], name: str, scheme_name: str, description: str
) -> Depends:
    """Return a dependency that documents where a key may be. It only serves the document."""
    scheme = kind(name=name, scheme_name=scheme_name, description=description, auto_error=False)
    documented: Depends = Security(scheme)
    return documented


KEY = key_scheme(APIKeyHeader, "X-API-Key", "Key", "The same key in another header.")
WITH_KEY: Sequence[Depends] = (Security(BEARER), KEY)
"""`dependencies` of a route that accepts keys. They only serve the document: `Authenticator` reads keys."""
WITHOUT_KEY: Mapping[str, Any] = {"security": [{}]}
"""`openapi_extra` of a route that accepts keys, and needs none on servers that require none."""


class DocumentedModel(BaseModel):
    """A model whose fields are described by the text below each."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema, in which each description is one line."""
        schema = handler(core_schema)
        for field in handler.resolve_ref_schema(schema).get("properties", {}).values():
            if "description" in field:
                field["description"] = " ".join(field["description"].split())
        return schema


def examples(*values: JsonDict) -> ConfigDict:
    """Return the configuration of a model with examples."""
    return ConfigDict(json_schema_extra={"examples": list(values)})


def closed_examples(*values: JsonDict) -> ConfigDict:
    """Return the configuration of a model with examples that rejects unknown fields."""
    return ConfigDict(extra="forbid", **examples(*values))


def equal_fields(model: type[BaseModel], *parts: object) -> dict[str, Any]:
    """Return the values of fields that parts have under the same names; of several, the last counts."""
    return {name: getattr(part, name) for part in parts for name in model.model_fields if hasattr(part, name)}


def describe_route(
    summary: str,
    response: str = "Successful Response",
    model: Any = None,
    responses: Mapping[int | str, dict[str, Any]] = MappingProxyType({}),
    request: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the arguments of a route that document it.

    Args:
        summary: what the route does.
        response: description of its response.
        model: model of the response; None: what the function's annotation says.
        responses: errors, by status, and files.
        request: what `request_of` or `json_or_form` returns.
    """
    documented = {"summary": summary, "response_description": response, "responses": dict(responses)}
    modelled = {} if model is None else {"response_model": model}
    return {**documented, **modelled, "openapi_extra": dict(request)}


def operation_id(route: APIRoute) -> str:
    """Name a route for generated clients as its function is named."""
    return route.name


def operation_ids(api: str) -> Callable[[APIRoute], str]:
    """Return a function that names an API's routes for generated clients: API, then name of the route."""
    return lambda route: f"{api}_{route.name}"


def error_responses(
    kinds: Iterable[ErrorKind],
    model: type[BaseModel] = ErrorResponse,
    statuses: Mapping[ErrorKind, int] = MappingProxyType({}),
) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of the errors that a route may respond with.

    FastAPI builds a validator for each `model`, which delays the start: the first adds the schema to the
    document, the others refer to it.

    Args:
        kinds: kinds of errors.
        model: body of every error.
        statuses: HTTP statuses that differ from those of Dragoman's own API.
    """
    by_status: dict[int | str, list[str]] = {}
    for kind in kinds:
        reason = f"`{kind.value}`: {kind.reason}" if model is ErrorResponse else kind.reason
        by_status.setdefault(statuses.get(kind, kind.status), []).append(reason)
    documented: dict[int | str, dict[str, Any]] = {}
    for status, reasons in by_status.items():
        documented[status] = {
            **({"content": {JSON: {"schema": reference_to(model)}}} if documented else {"model": model}),
            "description": ". ".join(reasons),
            **({"headers": dict(HEADERS[status])} if status in HEADERS else {}),
        }
    return documented


def request_of(
    model: type[BaseModel] | None = None,
    media_types: Iterable[str] = (),
    parameters: Iterable[Mapping[str, Any]] = (),
    query: type[BaseModel] | None = None,
) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that parses its request itself and accepts keys.

    Args:
        model: fields of the body; None if the route takes no body.
        media_types: formats of the body.
        parameters: parameters in the path and the headers.
        query: parameters in the URL's query.
    """
    in_url = [*map(dict, parameters), *(() if query is None else query_parameters(query))]
    operation: dict[str, Any] = {**WITHOUT_KEY, "parameters": in_url}
    if model is not None:
        content = {each: {"schema": schema_of(model)} for each in media_types}
        operation["requestBody"] = _request_body(content)
    return operation


def _request_body(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documentation of a body.

    One of several types is not marked as required: routes read most fields from the URL as well, and
    openapi-python-client 0.29 generates modules that cannot be imported for a required body of several types.
    """
    return {"required": len(content) == 1, "content": content}


def json_or_form(
    json_model: type[BaseModel],
    form_model: type[BaseModel],
    parameters: Iterable[Mapping[str, Any]] = (),
    *,
    form_type: str = MULTIPART,
) -> dict[str, Any]:
    """Return the `openapi_extra` of a route whose body is JSON, or a form with other fields."""
    content = {JSON: {"schema": schema_of(json_model)}, form_type: {"schema": schema_of(form_model)}}
    return {**request_of(parameters=parameters), "requestBody": _request_body(content)}


def get_and_post(
    routes: APIRouter,
    path: str,
    names: tuple[str, str],
    model: type[BaseModel],
    documented: Mapping[str, Any],
) -> Callable[[Endpoint], Endpoint]:
    """Return a decorator that adds two routes: GET with fields in the URL, and POST with them in a body.

    Args:
        routes: the API's routes.
        path: path of both.
        names: names of both in the document.
        model: the fields. Keys are not among the parameters of the URL, but a security scheme.
        documented: what `describe_route` returns.
    """
    in_url = [each for each in query_parameters(model) if each["name"] not in KEY_FIELDS]
    got, posted = names

    def add(endpoint: Endpoint) -> Endpoint:
        for method, name, request in (
            ("POST", posted, request_of(model, [JSON, FORM])),
            ("GET", got, request_of(parameters=in_url)),
        ):
            described = {**documented, "openapi_extra": request}
            routes.add_api_route(path, endpoint, methods=[method], name=name, **described)
        return endpoint

    return add


def query_parameters(model: type[BaseModel]) -> list[dict[str, Any]]:
    """Return the fields of a model as parameters of the URL's query; arrays are repeated."""
    schema = schema_of(model)
    return [
        {"name": name, "in": "query", "required": name in schema.get("required", ()), "schema": field}
        for name, field in schema["properties"].items()
    ]


def path_parameter(name: str, description: str) -> dict[str, Any]:
    return _text_parameter(name, description, "path")


def header_parameter(name: str, description: str) -> dict[str, Any]:
    return _text_parameter(name, description, "header")


def _text_parameter(name: str, description: str, kind: str) -> dict[str, Any]:
    schema = {"type": "string"}
    is_required = kind == "path"
    return {"name": name, "in": kind, "required": is_required, "description": description, "schema": schema}


def schema_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return a model's JSON schema without references, so that it can stand anywhere in the document."""
    schema = model.model_json_schema()
    definitions = schema.pop("$defs", {})

    def resolve(part: Any) -> Any:
        if isinstance(part, list):
            return [resolve(each) for each in part]
        if not isinstance(part, dict):
            return part
        if "$ref" in part:
            part = {**definitions[part["$ref"].rpartition("/")[2]], **part}
            del part["$ref"]
        return {name: resolve(each) for name, each in part.items()}

    resolved: dict[str, Any] = resolve(schema)
    return resolved


def file_response(description: str, media_type: str = OCTETS) -> dict[str, Any]:
    """Return the documentation of a response with a file."""
    return {
        "description": description,
        "content": {media_type: {"schema": {**BINARY, "contentMediaType": media_type}}},
    }


def event_stream(data: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the documentation of a response of server-sent events.

    OpenAPI 3.1 cannot describe events; `EVENT_SCHEMA` is what 3.2 calls `itemSchema`.

    Args:
        data: schema of each event's JSON, by the event's name.
    """
    events = [
        {
            "type": "object",
            "required": ["event", "data"],
            "properties": {
                "event": {"const": name},
                "data": {"type": "string", "contentMediaType": JSON, "contentSchema": dict(schema)},
            },
        }
        for name, schema in data.items()
    ]
    return {"content": {EVENTS: {EVENT_SCHEMA: {"oneOf": events}}}}


def reference_to(model: type[BaseModel]) -> dict[str, Any]:
    """Return a reference to the schema of a model that some route returns."""
    return {"$ref": SCHEMA.format(model=model.__name__)}
