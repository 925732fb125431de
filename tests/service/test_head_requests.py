"""HEAD has the response of GET on every route, without its body."""

import re

import httpx
import pytest

from tests.jobs.conftest import ServeJobs, double, keys, run_job, send, serve_double
from tests.routing.doubles import until
from tests.service.conftest import ALL_APIS
from tests.service.doubles import DoubleTranslator

__all__ = ["double", "keys", "serve_double"]


def get_paths(client: httpx.Client) -> list[str]:
    """The paths of all documented routes with GET, of something that does not exist."""
    described = client.get("/openapi.json").json()["paths"]
    found = [re.sub(r"{[^}]*}", "nothing", path) for path, routes in described.items() if "get" in routes]
    return [*found, "/openapi.json", "/healthz", "/readyz", "/metrics", "/"]


def test_every_route_of_get_responds_to_head_with_the_same_status(serve_double: ServeJobs) -> None:
    client = serve_double(apis=f"{ALL_APIS},google,openai")
    for path in get_paths(client):
        expected, found = client.get(path), client.head(path)
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


def test_head_where_there_is_no_get_is_not_allowed(serve_double: ServeJobs) -> None:
    assert serve_double().head("/v1/translate").status_code == 405
