"""The same problems through each API: every error has the form of its API and a status of its own."""

import importlib
import json
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

import service
from bench.hostile.patterns import BODIES, JSON, repeat
from service import errors
from service.accounts.keys import Scope
from service.errors import ServiceError
from service.translation import inference
from tests.engine.routing.doubles import until
from tests.service.apis import APIS, DEEPL, GOOGLE, LIBRETRANSLATE, NAMES, NATIVE, OPENAI, Api
from tests.service.conftest import Serve, double_server, fields_of
from tests.service.doubles import DoubleTranslator
from tests.service.google_translate.conftest import PATH as GOOGLE_PATH
from tests.service.keys import Keys

MANY, OVER_LIMIT = 5000, 2**16
"""Numbers of repetitions in a body, and in one over the limit."""
TYPES = {400: "malformed_request", 413: "too_large", 415: "unsupported_media_type", 422: "invalid_input"}
"""Of the native API's errors."""
Statuses = tuple[int, int, int, int, int]
"""Of the native API, LibreTranslate's, DeepL's, Google's and OpenAI's."""
NO_REQUEST: Statuses = (422, 400, 400, 400, 400)
STATUSES: Mapping[str, Statuses] = {
    "not JSON": (400,) * 5,
    "no request": NO_REQUEST,
    "no number": NO_REQUEST,
    "too large": (413,) * 5,
    "no JSON": (415, 400, 400, 400, 415),
    "unsupported": (415,) * 5,
    "not UTF-8": (422, 415, 415, 415, 400),
}


@pytest.fixture(scope="module")
def http(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    with double_server(tmp_path_factory.mktemp("server"), detection="on") as (client, _):
        yield client


@pytest.fixture(scope="module")
def keyed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, Keys]]:
    """A server that wants keys, and its keys."""
    folder = tmp_path_factory.mktemp("keyed")
    keys = Keys(f"sqlite:///{folder / 'accounts.db'}")
    settings = {"apis": NAMES, "database_url": keys.url, "requires_key": True}
    with double_server(folder, **settings) as (client, _):
        yield client, keys


@pytest.mark.parametrize(
    ("api", "reason", "status"),
    [(api, reason, status) for reason in BODIES for api, status in zip(APIS, STATUSES[reason], strict=True)],
    ids=lambda value: value.name if isinstance(value, Api) else str(value),
)
def test_an_unreadable_body_is_rejected(http: httpx.Client, api: Api, reason: str, status: int) -> None:
    is_large = reason == "too large"
    for kind, pattern in BODIES[reason]:
        headers = {"Authorization": f"{api.scheme} any"} | ({"Content-Type": kind} if kind else {})
        content = repeat(pattern, OVER_LIMIT if is_large else MANY).encode("latin-1")
        for path in api.paths[:1] if is_large else api.paths:  # documents may be larger
            response = http.post(path, content=content, headers=headers)
            if path == "/detect" and content.startswith(b"q=a&q=b"):  # it takes several texts
                assert response.status_code == 200
                continue
            error = api.error_of(response)
            assert error[0] == status, (path, pattern[:60])
            assert api is not NATIVE or error[1] == TYPES[status]
            assert len(response.content) < 1000


@pytest.mark.parametrize("kind", [JSON, "Application/JSON ; charset=UTF-8", f'{JSON}; charset="utf-8"'])
def test_json_may_be_declared_in_several_ways(http: httpx.Client, kind: str) -> None:
    for api in APIS:
        headers = {"Authorization": f"{api.scheme} any", "Content-Type": kind}
        response = http.post(api.paths[0], content=json.dumps(api.body("ä", "de")).encode(), headers=headers)
        assert api.text_of(response.json()) == "Ä"


@pytest.mark.parametrize(
    ("text", "statuses"),
    [
        ("unusable", NO_REQUEST),
        ("full", (429,) * 5),
        ("late", (504,) * 5),
        ("explode geheim", (500,) * 5),
        ("a" * 100_001, (413, 400, 413, 413, 413)),
        ("a" * 2**20, (413,) * 5),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_text_that_cannot_be_translated_is_not_quoted_and_not_charged(
    keyed: tuple[httpx.Client, Keys], caplog: pytest.LogCaptureFixture, text: str, statuses: Statuses
) -> None:
    client, keys = keyed
    key = keys.make()

    for api, status in zip(APIS, statuses, strict=True):
        ways: list[dict[str, Any]] = [{}, {"stream": True}] if api is OPENAI else [{}]
        for options in ways:
            response = api.ask(client, text, key, **options)
            assert api.error_of(response)[0] == status, api.paths
            assert text not in response.text
            assert "geheim" not in response.text + caplog.text
            assert "Traceback" not in response.text
    assert ("RuntimeError" in caplog.text and "in _translate" in caplog.text) == (status == 500)
    assert keys.usage(key).characters == 0
    assert NATIVE.ask(client, "a", key).status_code == 200, "the server goes on"


def test_keys_are_checked_and_limited(serve: Serve, keys: Keys) -> None:
    client = serve(apis=NAMES, database_url=keys.url, requires_key=True)
    other, revoked = keys.make(Scope.GLOSSARIES), keys.make()
    keys.revoke(revoked)
    for text, new_key, statuses in (
        ("ja", lambda: None, (401, 400, 403, 403, 401)),
        ("ja", lambda: "nonsense", (401, 403, 403, 401, 401)),
        ("ja", lambda: revoked, (401, 403, 403, 401, 401)),
        ("ja", lambda: other, (403,) * 5),
        ("neun", lambda: keys.make(characters_per_month=3), (429, 403, 456, 403, 429)),
    ):
        for api, status in zip(APIS, statuses, strict=True):
            rejected = api.ask(client, text, new_key())
            assert api.error_of(rejected)[0] == status, (api.paths, status)
            assert rejected.headers.get("www-authenticate") == ("Bearer" if status == 401 else None)
    for api in APIS:
        key = keys.make(requests_per_minute=1)
        assert api.ask(client, "ja", key).status_code == 200
        rejected = api.ask(client, "ja", key)
        assert api.error_of(rejected)[0] == 429
        assert 1 <= int(rejected.headers["retry-after"]) <= 60


FREE = ("/v1/models", "/healthz", "/languages", "/frontend/settings")
"""Routes without a limit."""


@pytest.mark.parametrize(
    ("api", "key"), [(NATIVE, None), (LIBRETRANSLATE, None), (DEEPL, "any"), (GOOGLE, "any"), (OPENAI, "any")]
)
def test_an_unknown_key_has_the_servers_rate(serve: Serve, keys: Keys, api: Api, key: str | None) -> None:
    client = serve(apis=NAMES, database_url=keys.url, rate_limit="2/minute")

    responses = [api.ask(client, "ja", key) for _ in range(3)]

    assert [each.status_code for each in responses] == [200, 200, 429]
    words = "Slowdown: 2 per 1 minute" if api is LIBRETRANSLATE else "the limit of 2 per 1 minute is exceeded"
    assert words in responses[-1].text
    assert [client.get(path).status_code for path in FREE] == [200] * len(FREE)


@pytest.mark.parametrize(
    ("api", "places"),
    [
        (NATIVE, ({"headers": {"X-API-Key": "{}"}}, {"headers": {"Authorization": "Bearer {}"}})),
        (LIBRETRANSLATE, ({"params": {"api_key": "{}"}}, {"headers": {"X-API-Key": "{}"}})),
        (DEEPL, ({"params": {"auth_key": "{}"}},)),
        (GOOGLE, ({"params": {"key": "{}"}}, {"headers": {"X-Goog-Api-Key": "{}"}})),
        (OPENAI, ({"headers": {"X-API-Key": "{}"}},)),
    ],
)
def test_a_key_may_be_in_the_headers_or_in_the_url(
    keyed: tuple[httpx.Client, Keys], api: Api, places: tuple[dict[str, dict[str, str]], ...]
) -> None:
    client, key = keyed[0], keyed[1].make()
    for place in places:
        [(where, named)] = place.items()
        given: Any = {where: {name: value.format(key) for name, value in named.items()}}
        assert client.post(api.paths[0], json=api.body("ja", "de"), **given).status_code == 200, place


@pytest.mark.parametrize(
    ("api", "field"), [(LIBRETRANSLATE, "api_key"), (DEEPL, "auth_key"), (GOOGLE, "key")]
)
def test_a_body_may_not_have_another_key(keyed: tuple[httpx.Client, Keys], api: Api, field: str) -> None:
    client, keys = keyed
    one, other = keys.make(), keys.make()

    assert api.ask(client, "ja", None, **{field: one}).status_code == 200
    statuses = [api.ask(client, "ja", one, **{field: each}).status_code for each in (one, "", other)]
    assert statuses == [200, 200, 400]


def test_until_it_has_translated_a_server_is_alive_but_not_ready(
    serve: Serve, translator: DoubleTranslator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "WARM_UP_TEXT", "wait")

    client = serve(await_ready=False, apis=NAMES)

    assert client.get("/healthz").json() == {"status": "alive"}
    assert [client.get(path).status_code for path in FREE] == [200] * len(FREE)
    assert NATIVE.error_of(client.get("/readyz")) == (503, "not_ready")
    fields, files = {"source": "de", "target": "en"}, {"file": ("a.txt", b"Hallo")}
    file = client.post("/translate_file", data=fields, files=files)
    rejected = [(api, api.ask(client, "a")) for api in APIS]
    for api, response in (*rejected, (LIBRETRANSLATE, file), (LIBRETRANSLATE, client.get("/health"))):
        assert api.error_of(response)[0] == 503
        assert int(response.headers["retry-after"]) > 0
    translator.released.set()
    until(lambda: client.get("/readyz").status_code == 200)
    assert client.get("/readyz").json() == {"status": "ready"}
    assert client.get("/health").json() == {"status": "ok"}


def test_a_server_that_does_not_detect_says_so(serve: Serve) -> None:
    client = serve(apis=NAMES, detection="off")
    responses = [(api, api.ask(client, "Hallo", source="")) for api in (NATIVE, LIBRETRANSLATE)]
    for api, path, body in (
        (NATIVE, "/v1/detect", {"text": "Hallo"}),
        (LIBRETRANSLATE, "/detect", {"q": "Hallo"}),
        (GOOGLE, f"{GOOGLE_PATH}/detect", {"q": "Hallo"}),
    ):
        responses.append((api, client.post(path, json=body)))
    statuses = [api.error_of(response)[0] for api, response in responses]
    assert statuses == [422, 400, 422, 403, 400]
    assert [fields_of(response) for api, response in responses if api is NATIVE] == [["source"]] * 2


@pytest.mark.parametrize(
    ("api", "status", "routes"),
    [
        (NATIVE, 404, ["GET /unknown", "POST /v1/translate/nothing"]),
        (NATIVE, 405, ["GET /v1/translate", "DELETE /v1/models"]),
        (LIBRETRANSLATE, 403, ["POST /suggest"]),
        (LIBRETRANSLATE, 404, ["POST /translate/x", "GET /languages/en", "GET /download_file/nothing.txt"]),
        (LIBRETRANSLATE, 405, ["GET /translate", "GET /detect", "POST /languages", "GET /suggest"]),
        (DEEPL, 404, ["GET /v2", "GET /v2/nothing"]),
        (DEEPL, 405, ["PUT /v2/translate", "GET /v2/document"]),
        (GOOGLE, 404, [f"GET {GOOGLE_PATH}/models"]),
        (GOOGLE, 405, [f"PUT {GOOGLE_PATH}", f"PUT {GOOGLE_PATH}/languages", f"DELETE {GOOGLE_PATH}/detect"]),
        (OPENAI, 404, ["POST /openai/v1/embeddings", "POST /openai/v1/responses", "POST /v1/chat/nothing"]),
        (OPENAI, 405, ["GET /openai/v1/chat/completions", "GET /v1/chat/completions"]),
    ],
)
def test_unknown_paths_and_methods_are_errors_of_their_api(
    http: httpx.Client, api: Api, status: int, routes: list[str]
) -> None:
    for route in routes:
        response = http.request(*route.split())
        assert api.error_of(response)[0] == status, route
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
        assert [client.post(path, json=api.body("a", "de")).status_code for path in api.paths] == [404, 404]


Row = tuple[str, str, str]
"""Name of an error, name of its base class, and its kind."""


def subclasses(base: type[ServiceError]) -> Iterator[type[ServiceError]]:
    for found in base.__subclasses__():
        yield found
        yield from subclasses(found)


def rows_of_code() -> set[Row]:
    for module in pkgutil.walk_packages(service.__path__, "service."):
        if "migrations" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return {
        (each.__name__, base.__name__, each.kind or "-")
        for each in subclasses(ServiceError)
        if each.__module__.startswith("service.") and not each.__name__.startswith("_")
        for base in [next(base for base in each.__bases__ if not base.__name__.startswith("_"))]
    }


def test_the_docstring_of_the_errors_has_each_below_its_base_with_its_kind() -> None:
    rows: set[Row] = set()
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        depth = (len(line) - len(line.lstrip())) // 4
        if depth:
            name, kind = line.split()
            above[depth - 1 :] = [name]
            if depth > 1:
                rows.add((name, above[depth - 2], kind))
    assert rows == rows_of_code()
