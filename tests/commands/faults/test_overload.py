"""More than a server takes, and an engine that dies: errors at once, and nothing is left afterwards."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.commands.faults.conftest import URL, disrupted_router
from tests.engine.routing.doubles import DisruptingMetrics, until
from tests.service.conftest import ready_client
from tests.service.test_hostile_requests import assert_is_error

QUEUE_SIZE = 4
OK, REJECTED = httpx.codes.OK, httpx.codes.TOO_MANY_REQUESTS


def ask(client: httpx.Client, text: str) -> httpx.Response:
    return client.post(URL, json={"text": text})


def assert_is_rejected(response: httpx.Response) -> None:
    assert_is_error(response, REJECTED, "overloaded")
    assert int(response.headers["Retry-After"]) >= 1


def test_requests_over_the_queue_size_are_rejected_and_the_server_recovers(
    disruptor: DisruptingMetrics,
) -> None:
    with (
        disrupted_router(disruptor, QUEUE_SIZE, replicas=1) as router,
        ready_client(router) as client,
        ThreadPoolExecutor(2 * QUEUE_SIZE) as clients,
    ):
        disruptor.may_go_on.clear()
        running = clients.submit(ask, client, "Der erste Satz.")
        until(lambda: router.queue().num_running == 1 and router.queue().num_waiting == 0)
        waiting = []
        for number in range(QUEUE_SIZE):
            waiting.append(clients.submit(ask, client, f"Satz Nummer {number}."))
            until(lambda: router.queue().num_waiting == len(waiting))

        refused = [ask(client, f"Zu viel {number}.") for number in range(QUEUE_SIZE)]
        not_ready = client.get("/readyz")
        disruptor.may_go_on.set()

        for response in refused:
            assert_is_rejected(response)
        assert_is_error(not_ready, 503, "not_ready")
        assert running.result().status_code == OK
        assert {one.result().status_code for one in waiting} == {OK}
        until(lambda: router.queue().num_waiting == router.queue().num_running == 0)
        assert {ask(client, f"Zu viel {number}.").status_code for number in range(QUEUE_SIZE)} == {OK}
        assert client.get("/readyz").status_code == OK


TEXT = "Das Kind spielt im Garten."


@pytest.fixture
def client(disruptor: DisruptingMetrics) -> Iterator[httpx.Client]:
    with (
        disrupted_router(disruptor, queue_size=1000, replicas=2) as router,
        ready_client(router, segment_cache_size=0) as client,
    ):
        yield client


ROUTES: tuple[tuple[str, dict[str, object]], ...] = (
    (URL, {"text": TEXT}),
    ("/v1/score", {"pairs": [{"source": TEXT, "target": "The child plays."}]}),
    ("/translate", {"q": TEXT, "source": "de", "target": "en"}),
    ("/v2/translate", {"text": [TEXT], "target_lang": "EN"}),
)


def test_a_crashing_engine_fails_its_request_with_a_regular_error_and_the_next_on_any_route_is_served(
    client: httpx.Client, disruptor: DisruptingMetrics, caplog: pytest.LogCaptureFixture
) -> None:
    before = ask(client, TEXT).json()
    for path, body in ROUTES:
        disruptor.is_armed = True

        assert_is_error(ask(client, TEXT), 500, "internal")
        # The second where the engine died of it between being lent and being asked.
        assert "MemoryError" in caplog.text or "TranslatorClosed" in caplog.text
        assert TEXT not in caplog.text

        headers = {"Authorization": "DeepL-Auth-Key any"} if path.startswith("/v2") else {}
        answered = client.post(path, json=body, headers=headers)
        assert answered.status_code == OK, path
        assert path != URL or answered.json() == before
        assert client.get("/readyz").status_code == OK
    until(lambda: client.get("/v1/models").json()["models"][0]["is_loaded"] is True)


def test_only_requests_inside_a_crashing_engine_fail_and_all_are_answered(
    client: httpx.Client, disruptor: DisruptingMetrics
) -> None:
    disruptor.may_go_on.clear()
    disruptor.is_armed = True
    with ThreadPoolExecutor(16) as clients:
        coming = [clients.submit(ask, client, f"{TEXT} {number}") for number in range(16)]
        disruptor.may_go_on.set()
        responses = [one.result() for one in coming]

    failed = [response for response in responses if response.status_code != httpx.codes.OK]
    assert failed
    for response in failed:
        assert_is_error(response, 500, "internal")
    with ThreadPoolExecutor(16) as clients:
        again = list(clients.map(lambda number: ask(client, f"{TEXT} {number}"), range(16)))
    assert {response.status_code for response in again} == {httpx.codes.OK}
