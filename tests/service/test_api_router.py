"""An API's routes are compared only with paths of that API."""

import pytest
from fastapi import APIRouter
from starlette.routing import Match

from service.http.api_router import ApiRouter


def test_routes_are_compared_only_with_paths_whose_first_part_one_of_them_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    part, routes = APIRouter(), ApiRouter(prefix="/v1")
    part.add_api_route("/deep/{name}", lambda: None)
    routes.include_router(part)
    monkeypatch.setattr(APIRouter, "matches", lambda _, scope: (Match.FULL, scope))

    found = [
        path for path in ("/v1/deep/a", "/v1", "/v10/deep/a", "/", "") if routes.matches({"path": path})[1]
    ]

    assert found == ["/v1/deep/a", "/v1"]
