"""A server of several processes: they share a port and what clients store, and their parent replaces them."""

import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import httpx
import pytest

from bench.processes import descendants
from dragoman.native.library import library
from service.server import processes
from service.server.processes import EXIT_NOT_STARTED, Processes
from tests.commands.faults.conftest import URL, Server, StartServer, free_port
from tests.engine.routing.doubles import TIMEOUT_S, until
from tests.forked import ForkedProcess, run_command
from tests.paths import TINY

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes share ports on Linux only")
STARTED = "Application startup complete"


def started(server: Server, count: int) -> list[int]:
    """Wait until so many processes have been ready; return the ids of those that run."""
    until(lambda: server.log.read_text().count(STARTED) >= count)
    return server.children()


def fetch(server: Server, path: str, **body: object) -> httpx.Response:
    """Ask on a connection of its own, which any process may get."""
    headers = {"Connection": "close"}
    if body:
        return server.client.post(path, json=body, headers=headers)
    return server.client.get(path, headers=headers)


def series(server: Server, beginning: str) -> float:
    """Return the sum of the metrics that begin so, read on a connection of its own."""
    lines = fetch(server, "/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(beginning))


def test_a_killed_process_is_replaced_and_the_others_answer_meanwhile(start_server: StartServer) -> None:
    server = start_server(processes=3)
    before = after = started(server, 3)

    for round_number in range(2):
        killed = before[round_number]
        os.kill(killed, signal.SIGKILL)
        until(lambda killed=killed: killed not in server.children())  # type: ignore[misc]
        assert {fetch(server, URL, text=f"Satz {number}.").status_code for number in range(20)} == {200}
        after = started(server, 4 + round_number)
        assert len(after) == 3

    assert server.process.poll() is None
    assert len({*after} - {*before}) == 2
    assert {fetch(server, URL, text="Ja.").status_code for _ in range(40)} == {200}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_ends_all_processes_without_an_error(
    number: signal.Signals, start_server: StartServer
) -> None:
    server = start_server(processes=3, drain_s=0.2)
    running = started(server, 3)

    server.process.send_signal(number)

    assert server.process.wait(TIMEOUT_S) == 0
    assert len(running) == 3
    assert not [pid for pid in running if Path(f"/proc/{pid}").exists()]
    assert "Traceback" not in server.log.read_text()
    assert "takes its place" not in server.log.read_text()


def test_processes_end_with_a_parent_that_is_killed(start_server: StartServer) -> None:
    server = start_server(processes=2)
    running = started(server, 2)

    server.process.kill()

    until(lambda: not [pid for pid in running if Path(f"/proc/{pid}").exists()])


def test_all_processes_have_the_jobs_and_glossaries_of_each(start_server: StartServer) -> None:
    server = start_server(processes=3)
    started(server, 3)

    made = server.send_file(b"Ja.", Connection="close")
    entries = [{"source": "Ja", "target": "Yes"}]
    dictionaries = [{"source": "de", "target": "en", "entries": entries}]
    glossary = fetch(server, "/v1/glossaries", name="a", dictionaries=dictionaries)

    assert (made.status_code, glossary.status_code) == (202, 201), (made.text, glossary.text)
    for kind, one in (("jobs", made), ("glossaries", glossary)):
        paths = [f"/v1/{kind}/{one.json()['id']}"] * 30
        assert Counter(fetch(server, path).status_code for path in paths) == {200: 30}


def test_metrics_are_of_all_processes_and_counters_stay_when_one_is_killed(start_server: StartServer) -> None:
    server = start_server(processes=2, preload="")
    running = started(server, 2)
    texts = [f"Satz {number}." for number in range(20)]
    for text in texts:
        assert fetch(server, URL, text=text).status_code == httpx.codes.OK

    def translated() -> float:
        return series(server, 'dragoman_request_seconds_count{api="native",route="/v1/translate"')

    until(lambda: translated() == len(texts))
    assert {translated() for _ in range(20)} == {len(texts)}  # whichever process answers
    assert series(server, "dragoman_characters_total") == sum(map(len, texts))
    assert series(server, "dragoman_ready{") == 2
    assert series(server, 'dragoman_queue_size{process="1"}') > 0

    for pid in running:
        os.kill(pid, signal.SIGKILL)
        until(lambda pid=pid: pid not in server.children())  # type: ignore[misc]
        until(lambda: len(server.children()) == 2 and series(server, "dragoman_ready{") == 2)
        assert translated() == len(texts)

    assert fetch(server, URL, text="Ja.").status_code == httpx.codes.OK
    until(lambda: translated() == len(texts) + 1)


@pytest.mark.skipif(library() is None, reason="the kernels were not built: there is no C++ compiler")
def test_processes_map_one_file_of_weights(start_server: StartServer, tmp_path: Path) -> None:
    folder = tmp_path / "weights"
    server = start_server(processes=2, weights_dir=folder, model=TINY / "bundle-int8", preload="")
    running = started(server, 2)

    def map_files() -> list[set[str]]:
        fetch(server, URL, text="Ja.")
        maps = [Path(f"/proc/{pid}/maps").read_text() for pid in running]
        return [{line.split()[-1] for line in lines.splitlines() if str(folder) in line} for lines in maps]

    until(lambda: all(map_files()))

    assert [each.name for each in folder.iterdir()] == [Path(next(iter(map_files()[0]))).name]
    assert map_files()[0] == map_files()[1]


def test_what_no_process_can_start_with_is_an_error_of_the_server(
    start_server: StartServer, tmp_path: Path
) -> None:
    used = start_server().port
    cases = {
        "is in use": {"PORT": str(used)},
        "no-folder": {"PORT": str(free_port()), "DATABASE_URL": "sqlite:////no-folder/a.db"},
    }
    options = ["serve", "--model", str(TINY / "bundle-int8"), "--processes", "2"]

    for number, (problem, settings) in enumerate(cases.items()):
        log = tmp_path / f"{number}.log"
        environment = os.environ | {f"DRAGOMAN_{name}": value for name, value in settings.items()}
        with ForkedProcess(run_command, options, environment, tmp_path, log) as process:
            assert process.wait(TIMEOUT_S) == EXIT_NOT_STARTED
        assert problem in log.read_text()
        assert "Traceback" not in log.read_text()


def _supervise(run: Callable[[int], None]) -> None:
    processes.MAX_PAUSE_S = 0.01
    sys.exit(Processes(run).supervise(2))


@pytest.mark.parametrize(("status", "num_started"), [(1, range(2, 8)), (EXIT_NOT_STARTED, range(1, 3))])
def test_processes_that_end_at_once_are_not_started_for_ever(
    status: int, num_started: range, tmp_path: Path
) -> None:
    with ForkedProcess(_supervise, partial(_note_and_end, tmp_path, status)) as parent:
        assert parent.wait(TIMEOUT_S) == EXIT_NOT_STARTED

    assert len(list(tmp_path.iterdir())) in num_started


def _note_and_end(folder: Path, status: int, _number: int) -> None:
    (folder / str(os.getpid())).touch()
    sys.exit(status)


def test_a_stop_between_two_starts_ends_all(tmp_path: Path) -> None:
    with ForkedProcess(_supervise, partial(_note_and_wait, tmp_path)) as parent:
        until(lambda: bool(descendants(parent.pid)))
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(TIMEOUT_S) == 0
        assert not descendants(parent.pid)


def _note_and_wait(folder: Path, _number: int) -> None:
    (folder / str(os.getpid())).touch()
    while True:
        time.sleep(0.01)
