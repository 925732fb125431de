"""Requests bring keys, which are for something, and may run out."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from service.accounts.key_store import AdminStores
from service.accounts.keys import KeyLimits, KeyOptions, Scope
from tests.routing.doubles import until
from tests.service.conftest import Serve
from tests.service.doubles import DoubleTranslator

URL = "/v1/translate"
MakeKey = Callable[..., dict[str, str]]


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'accounts.db'}"


@pytest.fixture
def bearer(database_url: str) -> MakeKey:
    """A new key as the header that presents it."""

    def make(*scopes: Scope, **limits: int) -> dict[str, str]:
        wishes = KeyOptions("somebody", frozenset(scopes or {Scope.TRANSLATE}), KeyLimits(**limits))
        with AdminStores.open(database_url) as stores:
            new = stores.keys.create(wishes, datetime.now(UTC))
        return {"Authorization": f"Bearer {new.presented}"}

    return make


def used(database_url: str, headers: dict[str, str]) -> int:
    """Characters that a key has used."""
    key_id = headers["Authorization"].split("_")[1]
    with AdminStores.open(database_url) as stores:
        return sum(month.characters for month in stores.usage.of_key(key_id))


def refusal(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["type"]


def test_a_server_that_wants_keys_lets_nobody_in_without(
    serve: Serve, database_url: str, bearer: MakeKey
) -> None:
    client, body = serve(database_url=database_url, requires_key=True), {"text": "ja"}
    revoked = bearer()
    with AdminStores.open(database_url) as stores:
        stores.keys.revoke(revoked["Authorization"].split("_")[1], datetime.now(UTC))

    missing = client.post(URL, json=body)
    assert refusal(missing) == (401, "unauthenticated")
    assert missing.headers["www-authenticate"] == "Bearer"
    for wrong in ({"Authorization": "Bearer nonsense"}, revoked):
        assert refusal(client.post(URL, json=body, headers=wrong)) == (401, "unauthenticated")
    key = bearer()
    assert client.post(URL, json=body, headers=key).status_code == 200
    assert client.post(URL, json=body, headers={"X-API-Key": key["Authorization"][7:]}).status_code == 200


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/translate/stream", "/v1/score", "/v1/detect"])
def test_a_key_for_something_else_is_forbidden(
    serve: Serve, database_url: str, bearer: MakeKey, path: str
) -> None:
    client = serve(database_url=database_url, requires_key=True)
    body: dict[str, object] = {"pairs": []} if path == "/v1/score" else {"text": "ja"}

    assert refusal(client.post(path, json=body, headers=bearer(Scope.GLOSSARIES))) == (403, "forbidden")


def test_characters_are_counted_until_there_are_none_left(
    serve: Serve, database_url: str, bearer: MakeKey
) -> None:
    client, key = serve(database_url=database_url), bearer(characters_per_month=10)

    assert client.post(URL, json={"text": ["ja", "nein"]}, headers=key).status_code == 200
    assert used(database_url, key) == 6
    assert refusal(client.post(URL, json={"text": "warum?"}, headers=key)) == (429, "quota_exceeded")
    assert used(database_url, key) == 6
    assert client.post(URL, json={"text": "wozu"}, headers=key).status_code == 200


@pytest.mark.parametrize("text", ["unusable", "explode", "full", "late"])
def test_what_fails_is_not_charged(serve: Serve, database_url: str, bearer: MakeKey, text: str) -> None:
    client, key = serve(database_url=database_url), bearer()

    assert client.post(URL, json={"text": text}, headers=key).status_code >= 400
    assert used(database_url, key) == 0


def test_a_client_that_leaves_is_not_charged(
    serve: Serve, database_url: str, bearer: MakeKey, is_waiting: threading.Event
) -> None:
    client, key = serve(database_url=database_url), bearer()

    with pytest.raises(httpx.ReadTimeout):
        client.post(URL, json={"text": "wait"}, headers=key, timeout=0.5)

    assert is_waiting.is_set()
    until(lambda: used(database_url, key) == 0)


def test_the_same_request_at_a_time_is_done_and_charged_once(
    serve: Serve, translator: DoubleTranslator, database_url: str, bearer: MakeKey
) -> None:
    client, key, other = serve(database_url=database_url), bearer(), bearer()
    answers: list[int] = []

    def ask(headers: dict[str, str]) -> None:
        answers.append(client.post(URL, json={"text": "wait"}, headers=headers).status_code)

    asking = [threading.Thread(target=ask, args=(headers,)) for headers in (key, key, key, other)]
    for thread in asking:
        thread.start()
    until(
        lambda: len(translator.seen) == 2 and "dragoman_requests_in_flight 5.0" in client.get("/metrics").text
    )
    translator.released.set()
    for thread in asking:
        thread.join()

    assert answers == [200] * 4
    assert [text for text, _ in translator.seen] == ["wait", "wait"]
    assert used(database_url, key) == used(database_url, other) == 4


def test_a_key_that_comes_too_often_is_told_when_to_come_back(
    serve: Serve, database_url: str, bearer: MakeKey
) -> None:
    client, key, other = serve(database_url=database_url), bearer(requests_per_minute=2), bearer()

    statuses = [client.post(URL, json={"text": "ja"}, headers=key).status_code for _ in range(3)]

    assert statuses == [200, 200, 429]
    refused = client.post(URL, json={"text": "ja"}, headers=key)
    assert refusal(refused) == (429, "rate_limited")
    assert 0 < int(refused.headers["retry-after"]) <= 60
    assert client.post(URL, json={"text": "ja"}, headers=other).status_code == 200


def test_an_address_without_a_key_has_the_servers_rate(serve: Serve) -> None:
    client = serve(rate_limit="2/minute")

    statuses = [client.post(URL, json={"text": "ja"}).status_code for _ in range(3)]

    assert statuses == [200, 200, 429]
    assert client.get("/v1/models").status_code == 200
    assert client.get("/healthz").status_code == 200


def test_guessing_keys_is_counted_against_the_address(serve: Serve, database_url: str) -> None:
    client = serve(database_url=database_url, requires_key=True, rate_limit="3/minute")
    guesses = [{"Authorization": f"Bearer drg_{number:08x}_{'A' * 43}"} for number in range(5)]

    statuses = [client.post(URL, json={"text": "ja"}, headers=guess).status_code for guess in guesses]

    assert statuses == [401, 401, 401, 429, 429]


def test_only_an_operators_key_reloads_models(serve: Serve, database_url: str, bearer: MakeKey) -> None:
    client = serve(database_url=database_url, requires_key=True, reload_endpoint=True)

    assert client.post("/v1/models/reload").status_code == 401
    assert client.post("/v1/models/reload", headers=bearer()).status_code == 403
    assert client.post("/v1/models/reload", headers=bearer(Scope.ADMIN)).status_code == 200


def test_no_page_of_another_origin_may_call_unless_the_operator_says_so(serve: Serve) -> None:
    origin = {"Origin": "https://page.example"}

    closed = serve().post(URL, json={"text": "ja"}, headers=origin)
    opened = serve(cors_origins="https://page.example").post(URL, json={"text": "ja"}, headers=origin)

    assert "access-control-allow-origin" not in closed.headers
    assert opened.headers["access-control-allow-origin"] == "https://page.example"


def test_the_texts_of_a_request_wait_as_one_and_for_their_key(
    serve: Serve, database_url: str, bearer: MakeKey, translator: DoubleTranslator
) -> None:
    client, headers = serve(database_url=database_url, requires_key=True), bearer()
    for _ in range(2):
        client.post(URL, json={"text": ["ja", "nein"]}, headers=headers).raise_for_status()

    first, second, third, fourth = (request.flow for request in translator.requests[-4:])
    assert first is second is not third is fourth
    assert {flow and flow.owner for flow in (first, third)} == {headers["Authorization"].split("_")[1]}
