"""A route that does without its framework's dependencies answers as one that does not."""

import asyncio
import json

import httpx
import pytest
from fastapi import FastAPI, Request
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from service.http.errors import ErrorForms, install_error_handlers
from service.http.json_route import JsonRoute


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
    app.add_api_route("/usual", tell, methods=["POST"], response_model_exclude_unset=True)
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


async def ask_both(body: bytes) -> list[tuple[int, object]]:
    transport, headers = httpx.ASGITransport(APP), {"Content-Type": "application/json"}
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
        answers = [await client.post(path, content=body) for path in ("/usual", "/direct")]
    return [(answer.status_code, answer.json()) for answer in answers]


@given(bodies.map(json.dumps).map(str.encode))
@example(b"")
@example(b"{")
@example(b'{"text": "a"} x')
@example(b"\xff\xfe{")
@example(b"[" * 100_000)
def test_any_body_gets_the_answer_that_a_usual_route_gives(body: bytes) -> None:
    usual, direct = asyncio.run(ask_both(body))

    assert direct == usual
    assert direct[0] in {200, 400, 422}


def test_a_route_without_a_body_model_is_rejected_at_declaration() -> None:
    async def take_nothing() -> EchoResponse:
        return EchoResponse(text="")

    with pytest.raises(TypeError, match="has no model"):
        JsonRoute("/direct", take_nothing, methods=["POST"])
