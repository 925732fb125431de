"""The web page and the documentation are served as files that need nothing from another host."""

import re
from pathlib import Path

import httpx
import pytest

from service.page.routes import STATIC
from tests.service.conftest import Serve

TYPES = {
    "/": "text/html; charset=utf-8",
    "/docs": "text/html; charset=utf-8",
    "/page/page.css": "text/css; charset=utf-8",
    "/page/page.js": "text/javascript; charset=utf-8",
    "/page/docs.js": "text/javascript; charset=utf-8",
    "/page/icon.svg": "image/svg+xml",
}
POLICY = {
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
}
XML_NAMESPACE = "http://www.w3.org/2000/svg"
ADDRESS = re.compile(r"https?:(?://|\\/\\/)[^\s\"'`<>)]*")
REFERENCE = re.compile(r'(?:href|src)="([^"]*)"')
MAX_FIRST_LOAD_BYTES = 100_000


@pytest.mark.parametrize("path", TYPES)
def test_a_file_has_its_type_a_strict_policy_and_a_validator(client: httpx.Client, path: str) -> None:
    response = client.get(path)

    assert response.status_code == 200
    assert response.headers["content-type"] == TYPES[path]
    assert set(response.headers["content-security-policy"].split("; ")) == POLICY
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cache-control"] == "no-cache"
    again = client.get(path, headers={"If-None-Match": f'"other", W/{response.headers["etag"]}'})
    assert (again.status_code, again.content) == (304, b"")
    head = client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(response.content))


def test_files_need_no_key_where_the_api_does(serve: Serve, tmp_path: Path) -> None:
    client = serve(database_url=f"sqlite:///{tmp_path / 'accounts.db'}", requires_key=True)

    assert {path: client.get(path).status_code for path in TYPES} == dict.fromkeys(TYPES, 200)
    assert client.get("/openapi.json").status_code == 401


@pytest.mark.parametrize("settings", [{"page": "off"}, {"apis": "libretranslate,deepl"}])
def test_the_page_can_be_switched_off_and_the_documentation_stays(
    serve: Serve, settings: dict[str, str]
) -> None:
    client = serve(**settings)

    assert [client.get(path).status_code for path in ("/", "/page/page.js")] == [404, 404]
    assert [client.get(path).status_code for path in ("/docs", "/page/docs.js")] == [200, 200]


def test_the_page_knows_what_the_server_offers(serve: Serve) -> None:
    few = serve(jobs="off", max_characters=5000).get("/").text
    many = serve(max_job_bytes=2**20).get("/").text

    assert "max_characters&quot;: 5000, &quot;documents&quot;: null" in few
    assert "detects_languages&quot;: false" in few
    assert "&quot;.docx&quot;" in many
    assert "max_bytes&quot;: 1048576" in many


def test_no_file_refers_to_another_host() -> None:
    found = {
        (path.name, address)
        for path in STATIC.iterdir()
        for address in ADDRESS.findall(path.read_text(encoding="utf8"))
    }

    assert found <= {("icon.svg", XML_NAMESPACE)}


@pytest.mark.parametrize("page", ["index.html", "docs.html"])
def test_addresses_in_a_page_are_relative_and_lead_to_files(client: httpx.Client, page: str) -> None:
    references = REFERENCE.findall((STATIC / page).read_text(encoding="utf8"))

    assert len(references) > 3
    assert [reference for reference in references if reference.startswith("/")] == []
    assert {each: client.get(f"/{each}").status_code for each in references} == dict.fromkeys(references, 200)


def test_scripts_request_only_relative_addresses() -> None:
    paths = {
        path
        for script in STATIC.glob("*.js")
        for path in re.findall(r"[\"'`](/?(?:v[12]|openapi)[/.][^\"'`]*)", script.read_text(encoding="utf8"))
    }

    assert {"v1/languages", "v1/translate", "v1/translate/stream", "openapi.json"} <= paths
    assert [path for path in paths if path.startswith("/")] == []


def test_the_first_load_is_small(client: httpx.Client) -> None:
    files = ["", *set(REFERENCE.findall((STATIC / "index.html").read_text(encoding="utf8"))) - {"docs"}]

    assert {"page/page.css", "page/page.js", "page/icon.svg"} <= set(files)
    assert sum(len(client.get(f"/{path}").content) for path in files) < MAX_FIRST_LOAD_BYTES


def test_files_are_not_in_the_openapi_document(client: httpx.Client) -> None:
    assert set(TYPES) & set(client.get("/openapi.json").json()["paths"]) == set()
