"""A server that is told to stop answers what it has, says that it stops, and ends well."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from tests.commands.faults.conftest import URL, Server, StartServer
from tests.engine.routing.doubles import TIMEOUT_S, until
from tests.service.test_hostile_requests import assert_is_error

OK = httpx.codes.OK
NUM_CLIENTS = 16
STARTED = "Application startup complete"


def ask(server: Server, **body: object) -> int:
    """On a connection of its own."""
    return server.client.post(URL, json=body, headers={"Connection": "close"}).status_code


def ask_until(server: Server, has_enough: threading.Event, number: int) -> list[int]:
    """One request after the other."""
    statuses: list[int] = []
    while not has_enough.is_set():
        statuses.append(ask(server, text=f"Satz {len(statuses)} von Nummer {number}. Das Kind spielt."))
    return statuses


def test_a_stopping_server_answers_accepted_requests_and_reports_that_it_is_not_ready(
    start_server: StartServer,
) -> None:
    server = start_server(drain_s=TIMEOUT_S, segment_cache_size=0)
    has_enough = threading.Event()
    with ThreadPoolExecutor(NUM_CLIENTS) as clients:
        asking = [clients.submit(ask_until, server, has_enough, number) for number in range(NUM_CLIENTS)]
        until(lambda: server.gauge("requests_in_flight") > 2)
        server.process.send_signal(signal.SIGTERM)
        until(lambda: server.client.get("/readyz").status_code != OK)
        not_ready = server.client.get("/readyz")
        still_taken = server.client.post(URL, json={"text": "Noch einer."})
        has_enough.set()
        statuses = [status for one in asking for status in one.result(TIMEOUT_S)]
        server.process.send_signal(signal.SIGTERM)  # no more draining

    assert_is_error(not_ready, 503, "not_ready")
    assert still_taken.status_code == OK
    assert set(statuses) == {OK}
    assert len(statuses) >= NUM_CLIENTS
    assert server.process.wait(TIMEOUT_S) == 0
    assert "Traceback" not in server.log.read_text()


def test_requests_longer_than_the_drain_time_are_still_answered(start_server: StartServer) -> None:
    server = start_server(drain_s=0.1, segment_cache_size=0, replicas=1)
    with ThreadPoolExecutor(4) as clients:
        texts = [f"Nummer {number}. " + "Das Kind spielt im Garten. " * 200 for number in range(4)]
        asking = [clients.submit(ask, server, text=text, beam_size=8) for text in texts]
        until(lambda: server.gauge("segments_running") > 0 and server.gauge("requests_in_flight") >= 5)
        server.process.send_signal(signal.SIGTERM)
        statuses = {one.result(TIMEOUT_S) for one in asking}

    assert statuses == {OK}
    assert server.process.wait(TIMEOUT_S) == 0


def test_two_servers_share_a_port_and_one_continues_when_the_other_stops(start_server: StartServer) -> None:
    first = start_server(reuse_port=True, drain_s=0.1)
    second = start_server(reuse_port=True, drain_s=0.1, port=first.port)

    until(lambda: STARTED in second.log.read_text())  # what answered may have been the first alone

    assert {ask(first, text="Ja.") for _ in range(40)} == {OK}
    assert first.stop() == 0
    assert {ask(second, text="Ja.") for _ in range(40)} == {OK}
    assert second.stop() == 0


def test_a_client_that_streams_job_events_does_not_block_the_shutdown(
    start_server: StartServer, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    server = start_server(database_url=url, jobs_at_a_time=0)
    job_id = server.send_file(b"Ja.").json()["id"]  # nobody works on it

    with server.client.stream("GET", f"/v1/jobs/{job_id}/events") as events:
        lines = events.iter_lines()
        assert next(lines) == "event: progress"
        server.process.send_signal(signal.SIGTERM)
        assert not [line for line in lines if line == "event: end"]

    assert server.process.wait(TIMEOUT_S) == 0
