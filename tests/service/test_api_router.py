"""An API's routes are compared only with paths of that API."""

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.routing import Match
from starlette.types import Scope

from service.http.api_router import ApiRouter


def test_routes_are_compared_only_with_paths_whose_first_part_one_of_them_has() -> None:
    compared: list[str] = []

    class Recorded(APIRoute):
        def matches(self, scope: Scope) -> tuple[Match, Scope]:
            compared.append(scope["path"])
            return super().matches(scope)

    part = APIRouter(route_class=Recorded)
    part.add_api_route("/deep/{name}", lambda: "found")
    routes = ApiRouter(prefix="/v1")
    routes.include_router(part)
    app = FastAPI(openapi_url=None, redirect_slashes=False)
    app.include_router(routes)
    client = TestClient(app)

    found = [client.get(path).status_code for path in ("/v1/deep/a", "/v10/deep/a", "/", "/deep/a", "/v1")]

    assert found == [200, 404, 404, 404, 404]
    assert set(compared) == {"/v1/deep/a", "/v1"}
