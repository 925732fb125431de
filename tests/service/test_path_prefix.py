"""Behind a proxy that publishes the server below a prefix, all addresses in responses have the prefix."""

import re
from collections.abc import Iterator

import httpx
import pytest

from service.settings import SettingsError, load_settings
from tests.routing.doubles import TIMEOUT_S, until
from tests.service.conftest import QUICK_FILES, engine_server

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
        engine_server(root_path=PREFIX, **QUICK_FILES) as server,
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


@pytest.mark.parametrize("path", ["translator", "/translator/", "/", "/a b", "//a", "/a?b"])
def test_a_prefix_that_would_not_fit_is_rejected(path: str) -> None:
    with pytest.raises(SettingsError, match=r"root_path .*must begin with a slash, not end with one"):
        load_settings(overrides={"root_path": path})
