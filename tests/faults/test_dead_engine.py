"""An engine that dies takes its requests with it, and nothing else."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.faults.conftest import URL, meddled_router
from tests.routing.doubles import Meddler, until
from tests.service.conftest import ready_client
from tests.service.test_hostile_requests import assert_is_error

TEXT = "Das Kind spielt im Garten."


@pytest.fixture
def client(meddler: Meddler) -> Iterator[httpx.Client]:
    with (
        meddled_router(meddler, queue_size=1000, replicas=2) as router,
        ready_client(router, segment_cache_size=0) as client,
    ):
        yield client


def ask(client: httpx.Client, text: str) -> httpx.Response:
    return client.post(URL, json={"text": text})


def test_a_crashing_engine_fails_its_request_with_a_regular_error_and_the_next_is_served(
    client: httpx.Client, meddler: Meddler, caplog: pytest.LogCaptureFixture
) -> None:
    before = ask(client, TEXT).json()
    for _ in range(3):
        meddler.is_armed = True

        assert_is_error(ask(client, TEXT), 500, "internal")
        # The second where the engine died of it between being lent and being asked.
        assert "MemoryError" in caplog.text or "TranslatorClosed" in caplog.text
        assert TEXT not in caplog.text

        assert ask(client, TEXT).json() == before
        assert client.get("/readyz").status_code == httpx.codes.OK


def test_only_requests_inside_a_crashing_engine_fail_and_all_are_answered(
    client: httpx.Client, meddler: Meddler
) -> None:
    meddler.may_go_on.clear()
    meddler.is_armed = True
    with ThreadPoolExecutor(16) as clients:
        coming = [clients.submit(ask, client, f"{TEXT} {number}") for number in range(16)]
        meddler.may_go_on.set()
        responses = [one.result() for one in coming]

    failed = [response for response in responses if response.status_code != httpx.codes.OK]
    assert failed
    for response in failed:
        assert_is_error(response, 500, "internal")
    with ThreadPoolExecutor(16) as clients:
        again = list(clients.map(lambda number: ask(client, f"{TEXT} {number}"), range(16)))
    assert {response.status_code for response in again} == {httpx.codes.OK}


def test_other_routes_are_served_again_after_an_engine_crash(client: httpx.Client, meddler: Meddler) -> None:
    for path, again in (
        ("/v1/score", {"pairs": [{"source": TEXT, "target": "The child plays."}]}),
        ("/translate", {"q": TEXT, "source": "de", "target": "en"}),
        ("/v2/translate", {"text": [TEXT], "target_lang": "EN"}),
    ):
        meddler.is_armed = True
        assert ask(client, TEXT).status_code == httpx.codes.INTERNAL_SERVER_ERROR
        headers = {"Authorization": "DeepL-Auth-Key any"} if path.startswith("/v2") else {}

        assert client.post(path, json=again, headers=headers).status_code == httpx.codes.OK, path

    until(lambda: client.get("/v1/models").json()["models"][0]["is_loaded"] is True)
