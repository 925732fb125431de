"""The web page: built from web/ by locked versions, served without need of another host, also in German."""

import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from service.http.errors import ErrorKind
from service.page.routes import STATIC
from tests.paths import ROOT
from tests.service.conftest import Serve

WEB = ROOT / "web"
BUILD = "`make page` builds them"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_files_were_built_from_the_sources_as_they_are() -> None:
    digest = hashlib.sha256()
    sources = sorted(f"src/{path.name}" for path in (WEB / "src").iterdir())
    for name in ("build.mjs", "package-lock.json", *sources):
        digest.update(name.encode() + b"\0" + (WEB / name).read_bytes() + b"\0")

    assert (STATIC / "sources.sha256").read_text(encoding="ascii").strip() == digest.hexdigest(), BUILD


def test_the_lock_file_names_versions_and_hashes_but_no_registry() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf8"))
    packages = {name: package for name, package in lock["packages"].items() if name}

    assert [name for name, each in packages.items() if not each["integrity"].startswith("sha512-")] == []
    assert [name for name, package in packages.items() if "resolved" in package] == []


def test_axe_is_the_pinned_version_and_carries_its_licence() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text(encoding="utf8"))
    head = (ROOT / "tests" / "commands" / "browser" / "axe.min.js").read_text(encoding="utf8")[:600]

    assert head.startswith(f"/*! axe v{lock['packages']['node_modules/axe-core']['version']}\n")
    assert "Mozilla Public" in head


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


SOURCES = ROOT / "web" / "src"
STRINGS = (SOURCES / "strings.ts").read_text(encoding="utf8")
GERMAN = set(re.findall(r'^  "([^"]+)":', STRINGS, re.MULTILINE))
ATTRIBUTES = {"aria-label", "title", "placeholder", "data-placeholder"}
SAME = {"Dragoman", "API"}


class PageTexts(HTMLParser):
    """Collects what the page itself shows, outside `head` and `noscript`."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._is_shown = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_shown = tag != "noscript" and (self._is_shown or tag == "body")
        self.found |= {value for name, value in attrs if name in ATTRIBUTES and value}

    def handle_data(self, data: str) -> None:
        if self._is_shown and data.strip():
            self.found.add(data.strip())


def test_each_text_of_the_page_has_a_german_one() -> None:
    page = PageTexts()
    page.feed((SOURCES / "index.html").read_text(encoding="utf8"))

    assert page.found - GERMAN - SAME == set()


def test_each_text_of_the_scripts_has_a_german_one() -> None:
    calls = (
        call
        for path in SOURCES.glob("*.ts")
        for call in re.findall(r"\btranslated\(([^;]*)", path.read_text(encoding="utf8"))
    )
    used = {text for call in calls for text in re.findall(r'"([A-Z{][^"]*[^"{])"', call)}

    assert len(used) > 20
    assert used - GERMAN == set()


def test_no_script_shows_a_text_in_english_alone() -> None:
    of_the_api_page = {"docs.ts", "try.ts", "openapi.ts", "schemas.ts"}
    scripts = [
        path.read_text(encoding="utf8")
        for path in SOURCES.glob("*.ts")
        if path.name not in {"strings.ts", *of_the_api_page}
    ]
    shown = {text for script in scripts for text in re.findall(r'"([A-Z][^"]* [^"]*[.…])"', script)}

    assert shown - GERMAN == set()
    for script in scripts:
        assert re.findall(r'(?:element|this\.open)\([^()]*, "([^"]+)"\)', script) == []


def test_each_kind_of_error_that_a_user_may_meet_has_a_german_sentence() -> None:
    internal = {"malformed_request", "method_not_allowed", "client_timeout", "conflict"}
    internal |= {"unsupported_media_type", "range_not_satisfiable", "internal"}

    assert [kind for kind in ErrorKind if kind not in internal and f"\n  {kind}: " not in STRINGS] == []
