"""Requests bring keys, which are for something, may run out, and open what a server tells of itself."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from service.accounts.keys import Scope
from tests.engine.routing.doubles import until
from tests.service.conftest import ALL_APIS, Serve, rejection
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys, id_of

URL = "/v1/translate"


def test_a_key_for_something_else_is_forbidden(serve: Serve, keys: Keys) -> None:
    client, other = serve(database_url=keys.url, requires_key=True), keys.bearer(Scope.GLOSSARIES)

    for path in ("/v1/translate", "/v1/translate/stream", "/v1/score", "/v1/detect"):
        body: dict[str, object] = {"pairs": []} if path == "/v1/score" else {"text": "ja"}
        assert rejection(client.post(path, json=body, headers=other)) == (403, "forbidden"), path


def test_a_client_that_leaves_a_stream_takes_its_texts_with_it_and_is_charged_for_its_segments(
    serve: Serve, keys: Keys, translator: DoubleTranslator
) -> None:
    client, key = serve(database_url=keys.url), keys.bearer()

    with client.stream("POST", f"{URL}/stream", json={"text": ["ja", "wait"]}, headers=key) as response:
        lines = response.iter_lines()  # kept, since httpx closes the stream when its iterator is collected
        assert next(lines) == "event: segment"
        assert keys.usage(key["Authorization"]).characters == len("ja" + "wait")

    until(lambda: translator.cancelled == ["wait"])
    until(lambda: keys.usage(key["Authorization"]).characters == len("ja"))


def test_a_text_that_is_refused_or_fails_is_not_charged_and_leaves_nothing_running(
    serve: Serve, keys: Keys, translator: DoubleTranslator
) -> None:
    client, key = serve(database_url=keys.url), keys.bearer(characters_per_month=3)

    assert client.post(URL, json={"text": "wait"}, headers=key).status_code == 429

    until(lambda: translator.cancelled == [text for text, _ in translator.seen])
    assert keys.usage(key["Authorization"]).characters == 0


def test_the_same_request_at_a_time_is_done_and_charged_once(
    serve: Serve, keys: Keys, translator: DoubleTranslator
) -> None:
    client, key, other = serve(database_url=keys.url), keys.bearer(), keys.bearer()

    def ask(headers: dict[str, str]) -> int:
        return client.post(URL, json={"text": "wait"}, headers=headers).status_code

    with ThreadPoolExecutor(4) as threads:
        statuses = threads.map(ask, (key, key, key, other))
        in_flight = "dragoman_requests_in_flight 5.0"
        until(lambda: len(translator.seen) == 2 and in_flight in client.get("/metrics").text)
        translator.released.set()
        assert list(statuses) == [200] * 4

    assert [text for text, _ in translator.seen] == ["wait", "wait"]
    assert [keys.usage(each["Authorization"]).characters for each in (key, other)] == [4, 4]


def test_guessing_keys_is_counted_against_the_address(serve: Serve, keys: Keys) -> None:
    client = serve(database_url=keys.url, requires_key=True, rate_limit="3/minute")
    guesses = [{"Authorization": f"Bearer drg_{number:08x}_{'A' * 43}"} for number in range(5)]

    statuses = [client.post(URL, json={"text": "ja"}, headers=guess).status_code for guess in guesses]

    assert statuses == [401, 401, 401, 429, 429]


def test_only_an_operators_key_reloads_models(serve: Serve, keys: Keys) -> None:
    client = serve(database_url=keys.url, requires_key=True, reload_endpoint=True)

    for headers, status in (({}, 401), (keys.bearer(), 403), (keys.bearer(Scope.ADMIN), 200)):
        assert client.post("/v1/models/reload", headers=headers).status_code == status


def test_only_pages_of_named_origins_may_call(serve: Serve) -> None:
    origin = {"Origin": "https://page.example"}
    preflight_headers = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-api-key,content-type",
    }
    closed, client = serve(), serve(cors_origins="https://page.example")

    rejected = closed.post(URL, json={"text": "ja"}, headers=origin)
    accepted = client.post(URL, json={"text": "ja"}, headers=origin)
    preflight = client.options(URL, headers=origin | preflight_headers)

    assert "access-control-allow-origin" not in rejected.headers
    assert accepted.headers["access-control-allow-origin"] == "https://page.example"
    assert preflight.status_code == 200
    assert "X-API-Key" in preflight.headers["access-control-allow-headers"].split(", ")


def test_the_texts_of_a_request_wait_as_one_and_for_their_key(
    serve: Serve, keys: Keys, translator: DoubleTranslator
) -> None:
    client, headers = serve(database_url=keys.url, requires_key=True), keys.bearer()
    for _ in range(2):
        client.post(URL, json={"text": ["ja", "nein"]}, headers=headers).raise_for_status()

    first, second, third, fourth = (request.flow for request in translator.requests[-4:])
    assert first is second is not third is fourth
    assert {flow and flow.owner for flow in (first, third)} == {id_of(headers["Authorization"])}


DISCOVERY = ("/v1/models", "/v1/languages", "/openapi.json")
ALWAYS_OPEN = ("/docs", "/healthz", "/readyz", "/languages", "/frontend/settings", "/health", "/spec")


def test_with_keys_discovery_takes_any_key_and_metrics_one_of_the_operator(serve: Serve, keys: Keys) -> None:
    client = serve(apis=ALL_APIS, database_url=keys.url, requires_key=True)
    any_key, operators = keys.bearer(Scope.GLOSSARIES), keys.bearer(Scope.ADMIN)

    for path in (*DISCOVERY, "/metrics"):
        refused = client.get(path)
        assert (refused.status_code, refused.json()["error"]["type"]) == (401, "unauthenticated"), path
        assert refused.headers["www-authenticate"] == "Bearer"
    for path in DISCOVERY:
        assert client.get(path, headers=any_key).status_code == 200, path
    assert client.get("/metrics", headers=any_key).status_code == 403
    assert client.get("/metrics", headers=operators).status_code == 200
    assert {path: client.get(path).status_code for path in ALWAYS_OPEN} == dict.fromkeys(ALWAYS_OPEN, 200)
    described = client.get("/openapi.json", headers=any_key).json()["paths"]
    for path in ("/v1/models", "/v1/languages", "/metrics"):
        assert described[path]["get"]["security"], path
        assert "401" in described[path]["get"]["responses"], path


def test_discovery_and_metrics_open_or_close_their_routes(serve: Serve, keys: Keys) -> None:
    opened = serve(apis=ALL_APIS, database_url=keys.url, requires_key=True, discovery="open", metrics="open")
    closed = serve(apis=ALL_APIS, database_url=keys.url, discovery="key", metrics="key")

    for path in (*DISCOVERY, "/metrics"):
        assert opened.get(path).status_code == 200, path
        assert closed.get(path).status_code == 401, path
    assert closed.post("/v1/translate", json={"text": "ja"}).status_code == 200


Headers = dict[str, str]
Work = Callable[[httpx.Client, Headers], object]


@pytest.fixture
def three_callers(keys: Keys) -> list[Headers]:
    """Two with keys, and one without."""
    return [keys.bearer(), keys.bearer(), {}]


def post(path: str, body: dict[str, object]) -> Work:
    return lambda client, headers: client.post(path, json=body, headers=headers).raise_for_status()


def send_job(client: httpx.Client, headers: Headers) -> None:
    sent = client.post("/v1/jobs", files={"file": ("a.txt", b"Hallo")}, headers=headers).raise_for_status()
    path = f"/v1/jobs/{sent.json()['id']}"
    until(lambda: client.get(path, headers=headers).json()["state"] == "done")


@pytest.mark.parametrize(("setting", "num_partitions"), [("per_key", 3), ("shared", 1)])
@pytest.mark.parametrize(
    "work",
    [
        post("/v1/translate", {"text": "Hallo"}),
        post("/v1/translate", {"text": "Hallo " * 500}),  # too long to be taken apart on the event loop
        post("/v1/translate/stream", {"text": "Hallo"}),
        post("/v1/score", {"pairs": [{"source": "Hallo", "target": "HALLO"}]}),
        send_job,
    ],
    ids=["translate", "translate_long", "stream", "score", "send_job"],
)
def test_each_key_has_a_partition_of_its_own_and_all_without_a_key_have_one(
    serve: Serve, translator: DoubleTranslator, keys: Keys, three_callers: list[Headers], work: Work,
    setting: str, num_partitions: int,
) -> None:  # fmt: skip
    client = serve(database_url=keys.url, segment_cache=setting)
    for headers in (*three_callers, *three_callers):
        work(client, headers)

    partitions = [request.cache_partition for request in translator.requests]
    assert partitions[:3] == partitions[3:]
    assert len(set(partitions[:3])) == num_partitions


def test_equal_requests_of_several_keys_are_not_joined(
    serve: Serve, translator: DoubleTranslator, keys: Keys, three_callers: list[Headers]
) -> None:
    client = serve(database_url=keys.url, segment_cache="shared")
    work = post("/v1/translate", {"text": "wait"})
    with ThreadPoolExecutor(3) as threads:
        asking = [threads.submit(work, client, headers) for headers in three_callers]
        until(lambda: len(translator.seen) == 3)
        translator.released.set()
        for each in asking:
            each.result()
    assert [text for text, _ in translator.seen] == ["wait"] * 3


PAIR = {"source": "de", "target": "en"}
TERM = {"source": "Hund", "target": "dog"}
STORED: dict[str, dict[str, object]] = {
    "glossaries": {"name": "x", "dictionaries": [{**PAIR, "entries": [TERM]}]},
    "memories": {"name": "x", **PAIR, "pairs": [TERM]},
}


@pytest.mark.parametrize(("kind", "name"), [("glossaries", "glossary"), ("memories", "memory")])
def test_what_a_key_stores_is_its_own_and_needs_its_scope(
    serve: Serve, keys: Keys, kind: str, name: str
) -> None:
    client, path = serve(database_url=keys.url, requires_key=True), f"/v1/{kind}"
    own, other = (keys.bearer(Scope.GLOSSARIES, Scope.TRANSLATE) for _ in range(2))
    stored_id = client.post(path, json=STORED[kind], headers=own).json()["id"]

    assert client.get(path, headers=other).json() == {kind: []}
    for method in ("GET", "DELETE"):
        assert client.request(method, f"{path}/{stored_id}", headers=other).status_code == 404
    body = {"text": "Hund", name: stored_id}
    assert [client.post(URL, json=body, headers=each).status_code for each in (other, own)] == [404, 200]
    assert client.get(path).status_code == 401
    for method in ("GET", "POST"):
        rejected = client.request(method, path, headers=keys.bearer(Scope.TRANSLATE))
        assert rejected.status_code == 403
    for method, status in (("GET", 200), ("DELETE", 204)):
        assert client.request(method, f"{path}/{stored_id}", headers=own).status_code == status
