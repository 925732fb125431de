"""The same problems through each API: every error has the form of its API and a status of its own."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from service.accounts.keys import Scope
from tests.deepl.conftest import error_of as deepl_error
from tests.google_translate.conftest import PATH as TRANSLATE
from tests.google_translate.conftest import error_of as google_error
from tests.libretranslate.conftest import error_of as libretranslate_error
from tests.openai_chat.conftest import PATH as CHAT
from tests.openai_chat.conftest import body as chat
from tests.openai_chat.conftest import error_of as openai_error
from tests.service.conftest import QUICK_FILES, Serve, double_server
from tests.service.keys import Keys
from tests.service.test_hostile_requests import native_error

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=b"
PART = b'--b\r\nContent-Disposition: form-data; name="q"\r\n'
PAIR = {"source": "de", "target": "en"}
Statuses = tuple[int, int, int, int, int]
"""Of the native API, LibreTranslate's, DeepL's, Google's and OpenAI's."""
NOT_READ: Statuses = (400,) * 5
NO_OBJECT: Statuses = (422, 400, 400, 400, 400)
NO_JSON: Statuses = (415, 400, 400, 400, 415)
UNSUPPORTED: Statuses = (415,) * 5
NOT_UTF_8: Statuses = (422, 415, 415, 415, 400)


@dataclass(frozen=True, slots=True)
class Api:
    """An API: its routes that read a body, and a request for a translation."""

    name: str
    paths: tuple[str, ...]
    body: Callable[[str], dict[str, Any]]
    error_of: Callable[[httpx.Response], tuple[Any, ...]]
    """Returns the status first, after a look at the form."""
    scheme: str = "Bearer"

    def ask(self, client: httpx.Client, text: str, key: str | None = "any") -> httpx.Response:
        headers = {} if key is None else {"Authorization": f"{self.scheme} {key}"}
        return client.post(self.paths[0], json=self.body(text), headers=headers)


NATIVE = Api(
    "native", ("/v1/translate", "/v1/translate/stream"), lambda text: {"text": text, **PAIR}, native_error
)
LIBRETRANSLATE = Api(
    "libretranslate",
    ("/translate", "/detect", "/translate_file"),
    lambda text: {"q": text, **PAIR},
    libretranslate_error,
)
DEEPL = Api(
    "deepl",
    ("/v2/translate", "/v2/document", "/v2/glossaries", "/v2/document/x"),
    lambda text: {"text": [text], "source_lang": "DE", "target_lang": "EN"},
    deepl_error,
    "DeepL-Auth-Key",
)
GOOGLE = Api("google", (TRANSLATE, f"{TRANSLATE}/detect"), lambda text: {"q": text, **PAIR}, google_error)
OPENAI = Api("openai", (CHAT, "/v1/chat/completions"), chat, openai_error)
APIS = (NATIVE, LIBRETRANSLATE, DEEPL, GOOGLE, OPENAI)
NAMES = ",".join(api.name for api in APIS)


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with double_server(tmp_path_factory.mktemp("server"), detection="on", **QUICK_FILES) as (client, _):
        yield client


@pytest.mark.parametrize(
    ("kind", "content", "statuses"),
    [
        (JSON, b"{", NOT_READ),
        (JSON, b'{"q": nan}', NOT_READ),
        (JSON, b"\xff\xfe\xfd", NOT_READ),
        (JSON, b'{"q": "\xe4"}', NOT_READ),
        (JSON, b'{"q": "a\nb"}', NOT_READ),
        (JSON, b"[" * 100_000, NOT_READ),
        (JSON, b'{"q":' * 100_000, NOT_READ),
        (JSON, b'{"q": ' + b"9" * 5000 + b"}", NOT_READ),
        (JSON, b'{"q": "a", "q": "b"}', NOT_READ),
        (JSON, b"[1]", NO_OBJECT),
        (JSON, b"null", NO_OBJECT),
        (JSON, b'"q"', NO_OBJECT),
        (JSON, b"NaN", NO_OBJECT),
        (JSON, b'{"q": "\\ud800"}', NO_OBJECT),
        (JSON, json.dumps({f"x{number}": 1 for number in range(5000)}).encode(), NO_OBJECT),
        (FORM, b"q=%ff", NO_JSON),
        (FORM, b"q=\xff", NO_JSON),
        (FORM, b"q=%ed%a0%80", NO_JSON),
        (FORM, b"q=a&q=b&source=de&target=en&text=a&target_lang=EN&target=en&target_lang=EN", NO_JSON),
        (FORM, b"&".join(b"a%d=b" % number for number in range(5000)), NO_JSON),
        (MULTIPART, b"", NO_JSON),
        (MULTIPART, b"no boundary", NO_JSON),
        (MULTIPART, PART + b"\r\na", NO_JSON),
        (MULTIPART, PART + b"\r\n\xff\r\n--b--\r\n", NO_JSON),
        (MULTIPART, PART + b"Content-Transfer-Encoding: x\r\n\r\na\r\n--b--\r\n", NO_JSON),
        (MULTIPART, b"--b\r\nContent-Disposition: form-data\r\n\r\na\r\n--b--\r\n", NO_JSON),
        ("multipart/form-data", b"x", NO_JSON),
        ("", b"q=a", UNSUPPORTED),
        ("text/plain", b"q=a", UNSUPPORTED),
        ("application/xml", b"<q/>", UNSUPPORTED),
        (";", b"q=a", UNSUPPORTED),
        (f"{FORM}; charset=iso-8859-1", b"q=a", UNSUPPORTED),
        (f"{JSON}; charset=utf-16", b"{}", NOT_UTF_8),
        (f"{JSON}; charset*=x'y'z", b"{}", NOT_UTF_8),
    ],
    ids=lambda value: repr(value[:30]) if isinstance(value, bytes) else "",
)
def test_an_unreadable_body_is_rejected(
    http: httpx.Client, kind: str, content: bytes, statuses: Statuses
) -> None:
    for api, status in zip(APIS, statuses, strict=True):
        headers = {"Authorization": f"{api.scheme} any"} | ({"Content-Type": kind} if kind else {})
        for path in api.paths:
            response = http.post(path, content=content, headers=headers)
            assert api.error_of(response)[0] == status, path
            assert len(response.content) < 1000


@pytest.mark.parametrize(
    "kind",
    [JSON, "Application/JSON ; charset=UTF-8", f'{JSON}; charset="utf-8"'],
)
def test_json_may_be_declared_in_several_ways(http: httpx.Client, kind: str) -> None:
    for api in APIS:
        headers = {"Authorization": f"{api.scheme} any", "Content-Type": kind}
        response = http.post(api.paths[0], content=json.dumps(api.body("ä")).encode(), headers=headers)
        assert "Ä" in json.dumps(response.json(), ensure_ascii=False), response.text


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        ("unusable", NO_OBJECT),
        ("full", (429,) * 5),
        ("late", (504,) * 5),
        ("explode geheim", (500,) * 5),
        ("a" * 100_001, (413, 400, 413, 413, 413)),
        ("a" * 2**20, (413,) * 5),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_text_that_cannot_be_translated_is_not_quoted_and_not_charged(
    serve: Serve, keys: Keys, text: str, statuses: Statuses
) -> None:
    client, key = serve(apis=NAMES, database_url=keys.url), keys.make()

    for api, status in zip(APIS, statuses, strict=True):
        response = api.ask(client, text, key)
        assert api.error_of(response)[0] == status, api.paths
        assert text not in response.text
        assert "geheim" not in response.text
    assert keys.usage(key).characters == 0


def test_keys_are_checked_and_limited(serve: Serve, keys: Keys) -> None:
    client = serve(apis=NAMES, database_url=keys.url, requires_key=True)
    other = keys.make(Scope.GLOSSARIES)
    for text, new_key, statuses in (
        ("ja", lambda: None, (401, 400, 403, 403, 401)),
        ("ja", lambda: "nonsense", (401, 403, 403, 401, 401)),
        ("ja", lambda: other, (403,) * 5),
        ("neun", lambda: keys.make(characters_per_month=3), (429, 403, 456, 403, 429)),
    ):
        for api, status in zip(APIS, statuses, strict=True):
            assert api.error_of(api.ask(client, text, new_key()))[0] == status, (api.paths, status)
    for api in APIS:
        key = keys.make(requests_per_minute=1)
        assert api.ask(client, "ja", key).status_code == 200
        rejected = api.ask(client, "ja", key)
        assert api.error_of(rejected)[0] == 429
        assert 1 <= int(rejected.headers["retry-after"]) <= 60


@pytest.mark.parametrize(
    ("api", "method", "path", "status"),
    [
        (NATIVE, "GET", "/unknown", 404),
        (NATIVE, "POST", "/v1/translate/", 404),
        (NATIVE, "GET", "/v1/translate", 405),
        (NATIVE, "DELETE", "/v1/models", 405),
        (LIBRETRANSLATE, "GET", "/translate", 405),
        (LIBRETRANSLATE, "GET", "/detect", 405),
        (LIBRETRANSLATE, "POST", "/languages", 405),
        (LIBRETRANSLATE, "GET", "/suggest", 405),
        (LIBRETRANSLATE, "POST", "/translate/", 404),
        (LIBRETRANSLATE, "GET", "/languages/en", 404),
        (LIBRETRANSLATE, "GET", "/download_file/nothing.txt", 404),
        (LIBRETRANSLATE, "POST", "/suggest", 403),
        (DEEPL, "GET", "/v2", 404),
        (DEEPL, "GET", "/v2/nothing", 404),
        (DEEPL, "PUT", "/v2/translate", 405),
        (DEEPL, "GET", "/v2/document", 405),
        (GOOGLE, "PUT", TRANSLATE, 405),
        (GOOGLE, "PUT", f"{TRANSLATE}/languages", 405),
        (GOOGLE, "GET", f"{TRANSLATE}/models", 404),
        (GOOGLE, "DELETE", f"{TRANSLATE}/detect", 405),
        (OPENAI, "GET", CHAT, 405),
        (OPENAI, "GET", "/v1/chat/completions", 405),
        (OPENAI, "POST", "/openai/v1/embeddings", 404),
        (OPENAI, "POST", "/openai/v1/responses", 404),
        (OPENAI, "POST", "/v1/chat/nothing", 404),
    ],
)
def test_paths_and_methods_have_the_form_of_all_errors(
    http: httpx.Client, api: Api, method: str, path: str, status: int
) -> None:
    response = http.request(method, path)

    assert api.error_of(response)[0] == status
    assert ("allow" in response.headers) == (status == 405)


def test_requests_are_counted_under_the_name_of_their_api(serve: Serve) -> None:
    client = serve(apis=NAMES)
    requested = [(api.name, path) for api in APIS for path in api.paths[:2]]
    for _, path in requested:
        client.post(path, json={})

    counted = client.get("/metrics").text.splitlines()
    for name, path in requested:
        assert any(f'api="{name}"' in line and f'route="{path}"' in line for line in counted), path


def test_googles_and_openais_apis_are_off_unless_they_are_named(serve: Serve) -> None:
    client = serve(apis="native")

    for api in (GOOGLE, OPENAI):
        assert [client.post(path, json=api.body("a")).status_code for path in api.paths] == [404, 404]
