"""Single files that cost their reader far more than their size, and readers that are killed."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from bench.hostile.attacks import large_lists
from bench.hostile.files import BOMBS, large_file
from bench.processes import MIB, memory
from tests.commands.faults.conftest import LANGUAGES, Server, StartServer
from tests.commands.faults.test_slow_files import LONG
from tests.engine.routing.doubles import until

MAX_GROWTH_BYTES = 120 * MIB
NUM_LINES = 4_000
ENDED = {"done", "failed", "cancelled"}


@pytest.fixture
def server(start_server: StartServer) -> Server:
    return start_server(log_level="warning")


@pytest.mark.timeout(240)
@pytest.mark.parametrize("path", ["/v1/glossaries", "/v1/memories"])
def test_a_file_of_many_units_or_a_large_one_does_not_grow_the_server(server: Server, path: str) -> None:
    before_bytes = server.resident_bytes()

    for name, content in large_lists(path):
        assert len(content) < 10 * MIB
        form = {"name": "x", **LANGUAGES}
        sent = server.client.post(path, data=form, files={"file": (name, content)}, timeout=None)
        assert sent.status_code in {httpx.codes.CREATED, httpx.codes.UNPROCESSABLE_ENTITY}, sent.text

    assert memory(server.process.pid).peak_bytes - before_bytes < MAX_GROWTH_BYTES


@pytest.mark.timeout(120)
@pytest.mark.parametrize("title", [title for title in BOMBS if title.startswith(("a.pdf", "a.parquet"))])
def test_a_single_file_does_not_grow_the_server(server: Server, title: str) -> None:
    assert server.send_file(b"ein Hund\n").status_code == httpx.codes.ACCEPTED
    before_bytes = server.resident_bytes()

    name, content = large_file(title)
    sent = server.send_file(content, name)

    assert sent.status_code in {httpx.codes.ACCEPTED, httpx.codes.UNPROCESSABLE_ENTITY}, sent.text
    assert memory(server.process.pid).peak_bytes - before_bytes < MAX_GROWTH_BYTES


@pytest.mark.timeout(120)
def test_a_reader_that_is_killed_fails_its_file_alone(server: Server) -> None:
    """As the system does if memory runs out."""
    with ThreadPoolExecutor() as threads:
        sending = threads.submit(server.send_file, LONG, "a.txt.gz")
        until(lambda: sending.done() or server.children())
        for process in server.children():
            os.kill(process, signal.SIGKILL)
        response = sending.result()

    assert response.status_code in {httpx.codes.UNPROCESSABLE_ENTITY, httpx.codes.SERVICE_UNAVAILABLE}
    assert response.json()["error"]["message"]
    assert server.send_file(b"ein Hund\n").status_code == httpx.codes.ACCEPTED


@pytest.mark.timeout(240)
def test_a_job_whose_reader_is_killed_fails_or_keeps_the_order_of_its_lines(server: Server) -> None:
    lines = ["Das ist ein Haus. " * 3 + str(number) for number in range(NUM_LINES)]
    job_id = server.send_file("\n".join(lines).encode()).json()["id"]

    def job() -> dict[str, Any]:
        found: dict[str, Any] = server.client.get(f"/v1/jobs/{job_id}").json()
        return found

    until(lambda: job()["progress"]["done"] > 0)
    for process in server.children():
        os.kill(process, signal.SIGKILL)
    until(lambda: job()["state"] in ENDED)
    if job()["state"] == "failed":
        assert "stopped by SIGKILL" in job()["problem"]
        return
    result = server.client.get(f"/v1/jobs/{job_id}/result").text.splitlines()
    assert [line.rpartition(" ")[2] for line in result] == [line.rpartition(" ")[2] for line in lines]
