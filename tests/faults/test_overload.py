"""More than a server takes: told so at once, and nothing of it is left afterwards."""

from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.faults.conftest import URL, meddled_router
from tests.routing.doubles import Meddler, until
from tests.service.conftest import ready_client
from tests.service.test_hostile_requests import assert_is_error

QUEUE_SIZE = 4
OK, REFUSED = httpx.codes.OK, httpx.codes.TOO_MANY_REQUESTS


def ask(client: httpx.Client, text: str) -> httpx.Response:
    return client.post(URL, json={"text": text})


def assert_is_refused(response: httpx.Response) -> None:
    assert_is_error(response, REFUSED, "overloaded")
    assert int(response.headers["Retry-After"]) >= 1


def test_requests_over_the_queue_size_are_rejected_and_the_server_recovers(meddler: Meddler) -> None:
    with (
        meddled_router(meddler, QUEUE_SIZE, replicas=1) as router,
        ready_client(router) as client,
        ThreadPoolExecutor(2 * QUEUE_SIZE) as clients,
    ):
        meddler.may_go_on.clear()
        running = clients.submit(ask, client, "Der erste Satz.")
        until(lambda: router.queue().num_running == 1 and router.queue().num_waiting == 0)
        waiting = []
        for number in range(QUEUE_SIZE):
            waiting.append(clients.submit(ask, client, f"Satz Nummer {number}."))
            until(lambda: router.queue().num_waiting == len(waiting))

        refused = [ask(client, f"Zu viel {number}.") for number in range(QUEUE_SIZE)]
        not_ready = client.get("/readyz")
        meddler.may_go_on.set()

        for response in refused:
            assert_is_refused(response)
        assert_is_error(not_ready, 503, "not_ready")
        assert running.result().status_code == OK
        assert {one.result().status_code for one in waiting} == {OK}
        until(lambda: router.queue().num_waiting == router.queue().num_running == 0)
        assert {ask(client, f"Zu viel {number}.").status_code for number in range(QUEUE_SIZE)} == {OK}
        assert client.get("/readyz").status_code == OK
