"""Addresses below a prefix that a proxy publishes, and with more slashes than they need; HEAD, which has the
response of GET without its body.
"""

import re
from collections.abc import Iterator

import httpx
import pytest
from fastapi import APIRouter
from starlette.routing import Match

from service.http.api_router import ApiRouter
from tests.engine.routing.doubles import TIMEOUT_S, until
from tests.jobs.conftest import ServeJobs, double, keys, run_job, send, serve_double
from tests.service.conftest import ALL_APIS, double_server, engine_server
from tests.service.doubles import DoubleTranslator

PREFIX = "/some/where"


class PrefixProxy(httpx.BaseTransport):
    """Removes the prefix, and knows no other paths, as `location /some/where/` of nginx does."""

    def __init__(self, server: httpx.Client) -> None:
        self.server = server

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        if not path.startswith(f"{PREFIX}/"):
            return httpx.Response(404, text="the proxy knows no such path")
        sent = self.server.request(
            request.method,
            path.removeprefix(PREFIX),
            content=request.read(),
            headers={"Host": "public.test", "Content-Type": request.headers.get("Content-Type", "")},
        )
        return httpx.Response(sent.status_code, headers=sent.headers, content=sent.content)


@pytest.fixture(scope="module")
def public() -> Iterator[httpx.Client]:
    """A client of the proxy."""
    with (
        engine_server(root_path=PREFIX) as server,
        httpx.Client(
            transport=PrefixProxy(server), base_url="http://public.test", timeout=TIMEOUT_S
        ) as client,
    ):
        yield client


def test_the_openapi_document_names_the_prefix_and_its_paths_work(public: httpx.Client) -> None:
    document = public.get(f"{PREFIX}/openapi.json").json()

    assert document["servers"] == [{"url": PREFIX}]
    assert "/v1/translate" in document["paths"]
    assert public.post(f"{PREFIX}/v1/translate", json={"text": "Hallo"}).status_code == 200


@pytest.mark.parametrize("page", ["/", "/docs"])
def test_the_pages_load_only_what_is_below_the_prefix(public: httpx.Client, page: str) -> None:
    content = public.get(PREFIX + page).text
    links = re.findall(r'(?:src|href)="([^"#]+)"', content)

    assert links
    for link in links:
        assert public.get(httpx.URL(f"http://public.test{PREFIX}{page}").join(link)).status_code == 200, link


def test_the_location_of_a_job_has_the_prefix(public: httpx.Client) -> None:
    fields = {"source": "de", "target": "en"}
    sent = public.post(f"{PREFIX}/v1/jobs", data=fields, files={"file": ("a.txt", b"Hallo")})

    assert sent.headers["Location"] == f"{PREFIX}/v1/jobs/{sent.json()['id']}"
    until(lambda: public.get(sent.headers["Location"]).json()["state"] == "done")


def test_the_address_of_a_translated_file_has_the_prefix(public: httpx.Client) -> None:
    fields = {"source": "de", "target": "en"}
    sent = public.post(f"{PREFIX}/translate_file", data=fields, files={"file": ("a.txt", b"Hallo")})

    url = sent.json()["translatedFileUrl"]
    assert url.startswith(f"http://public.test{PREFIX}/download_file/")
    assert public.get(url).status_code == 200


__all__ = ["double", "keys", "serve_double"]


@pytest.fixture(scope="module")
def all_apis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a server with all APIs and jobs."""
    folder = tmp_path_factory.mktemp("all")
    with double_server(folder, apis=ALL_APIS, database_url=f"sqlite:///{folder / 'dragoman.db'}") as (
        client,
        _,
    ):
        yield client


def get_paths(client: httpx.Client) -> list[str]:
    """The paths of all documented routes with GET, of something that does not exist."""
    described = client.get("/openapi.json").json()["paths"]
    found = [re.sub(r"{[^}]*}", "nothing", path) for path, routes in described.items() if "get" in routes]
    return [*found, "/openapi.json", "/healthz", "/readyz", "/metrics", "/"]


def test_every_route_of_get_responds_to_head_with_the_same_status(all_apis: httpx.Client) -> None:
    for path in get_paths(all_apis):
        expected, found = all_apis.get(path), all_apis.head(path)
        assert (found.status_code, found.content) == (expected.status_code, b""), path
        assert found.headers.get("content-type") == expected.headers.get("content-type"), path


def test_head_of_a_file_has_its_length(serve_double: ServeJobs) -> None:
    client = serve_double()
    job = run_job(client, b"ein haus\n")
    found = client.head(f"/v1/jobs/{job['id']}/result")
    assert (found.headers["content-length"], found.content) == ("9", b"")


@pytest.mark.timeout(60)
def test_head_of_an_endless_stream_ends(serve_double: ServeJobs, double: DoubleTranslator) -> None:
    client = serve_double()
    job = send(client, b"wait\n")
    until(double.is_waiting.is_set)
    found = client.head(f"/v1/jobs/{job['id']}/events")
    assert (found.status_code, found.content) == (200, b"")
    assert found.headers["content-type"].startswith("text/event-stream")


def test_every_route_responds_to_a_slash_at_its_end_and_to_doubled_ones(all_apis: httpx.Client) -> None:
    described = all_apis.get("/openapi.json").json()["paths"]
    for path, method in ((path, method) for path, methods in described.items() for method in methods):
        sent = re.sub(r"{[^}]*}", "nothing", path)
        plain = all_apis.request(method, sent)
        for written in ("/{}/", "//{}", "///{}//"):
            found = all_apis.request(method, f"{all_apis.base_url}{written.format(sent[1:])}")
            assert found.status_code == plain.status_code, (method, path)
            assert found.headers.get("content-type") == plain.headers.get("content-type"), (method, path)


def test_the_page_of_the_routes_has_no_address_at_which_its_links_would_break(
    serve_double: ServeJobs,
) -> None:
    client = serve_double()
    assert [client.get(path).status_code for path in ("/docs", "/docs/", "/docs//")] == [200, 404, 404]


def test_head_where_there_is_no_get_is_not_allowed(serve_double: ServeJobs) -> None:
    assert serve_double().head("/v1/translate").status_code == 405


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
