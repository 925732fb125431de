"""A route that takes JSON and gives JSON, for what is asked so often that the framework's share counts."""

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from service.front.errors import ApiError, ErrorKind, SafeJSONResponse
from service.front.fields import content_type_of

JSON = "application/json"
UNREADABLE = "There was an error parsing the body"
"""As the framework has it."""


class JsonRoute(APIRoute):
    """Calls its function with the body, as its model, and the request; what it gives, a model too, is sent.

    It is described as any other route is; its dependencies are for the description alone. Finding out anew
    for every request what a function wants takes the event loop longer than all else that it does for one.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        model = self._model()
        only_set = self.response_model_exclude_unset

        async def handle(request: Request) -> Response:
            require_json_type(request)
            asked = _parsed(await request.body(), model)
            given: BaseModel = await self.endpoint(asked, request)
            return SafeJSONResponse(given.model_dump(mode="json", exclude_unset=only_set))

        return handle

    def _model(self) -> type[BaseModel]:
        model = None if self.body_field is None else self.body_field.field_info.annotation
        if not (isinstance(model, type) and issubclass(model, BaseModel)):
            raise TypeError(f"{self.path} takes no model as its body")
        return model


def _parsed(body: bytes, model: type[BaseModel]) -> BaseModel:
    """Errors are those of any other route."""
    if not body:
        problem = {"type": "missing", "loc": ("body",), "msg": "Field required", "input": None}
        raise RequestValidationError([problem])
    try:
        # pydantic's own parser refuses half of a surrogate pair, which JSON allows.
        content = json.loads(body)
    except json.JSONDecodeError as error:
        where = ("body", error.pos)
        invalid: dict[str, Any] = {"type": "json_invalid", "loc": where, "msg": "JSON decode error"}
        raise RequestValidationError([{**invalid, "ctx": {"error": error.msg}}]) from error
    except (ValueError, RecursionError) as error:
        raise ApiError(ErrorKind.MALFORMED, UNREADABLE) from error
    try:
        return model.model_validate(content, from_attributes=True)  # as the framework does, for its messages
    except ValidationError as error:
        problems = [{**problem, "loc": ("body", *problem["loc"])} for problem in error.errors()]
        raise RequestValidationError(problems) from error


def require_json_type(request: Request) -> None:
    """Refuse a body that is not declared as JSON."""
    # To parse what nearly all send would cost each of them.
    if request.headers.get("content-type") != JSON and content_type_of(request) != JSON:
        raise ApiError(
            ErrorKind.UNSUPPORTED_MEDIA_TYPE, "send JSON, with the header Content-Type: application/json"
        )


async def require_json(request: Request) -> None:
    """The same as a dependency of other routes. What is no coroutine would be run on a thread."""
    require_json_type(request)
