"""Real servers in processes of their own, and engines that can be made to fail or to wait."""

import os
import re
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from bench.processes import descendants
from dragoman.routing.options import TranslatorOptions
from dragoman.routing.router import Router
from tests.engine.routing.doubles import TIMEOUT_S, DisruptingMetrics, until
from tests.forked import ForkedProcess, run_command
from tests.service.conftest import NO_TLS, TINY_BUNDLE, answers

URL = "/v1/translate"
LANGUAGES = {"source": "de", "target": "en"}
HOST = "127.0.0.1"
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
PORTS = iter(range(20_000 + 1000 * WORKER, 21_000 + 1000 * WORKER))
"""Ports of servers, each used once; every process of a test run has its own."""


@dataclass(frozen=True, slots=True)
class Server:
    """A `dragoman serve` process, and a client of it."""

    process: ForkedProcess
    host: str
    port: int
    client: httpx.Client
    log: Path

    @property
    def address(self) -> tuple[str, int]:
        return self.host, self.port

    def stop(self) -> int:
        """Ask it to end; its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT_S)

    def translate(self, text: str) -> str:
        response = self.client.post(URL, json={"text": text})
        assert response.status_code == httpx.codes.OK, response.text
        translation: str = response.json()["translations"][0]["text"]
        return translation

    def send_file(self, content: bytes, name: str = "a.txt", **headers: str) -> httpx.Response:
        """Send a file as a job."""
        files = {"file": (name, content)}
        return self.client.post("/v1/jobs", data=LANGUAGES, files=files, headers=headers)

    def gauge(self, name: str, label: str = "") -> float:
        """The sum of a metric's series, or of those with a label such as `ending="done"`."""
        lines = self.client.get("/metrics").text.splitlines()
        found = [line for line in lines if re.match(rf"dragoman_{name}[ {{]", line) and label in line]
        return sum(float(line.rpartition(" ")[2]) for line in found)

    def is_idle(self) -> bool:
        """Whether nothing waits, runs, or is being answered but this question."""
        return (
            self.gauge("segments_waiting") == 0
            and self.gauge("segments_running") == 0
            and self.gauge("requests_in_flight") <= 1
        )

    def children(self) -> list[int]:
        """The ids of its processes that read files."""
        return descendants(self.process.pid)

    def resident_bytes(self) -> int:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


StartServer = Callable[..., Server]


@contextmanager
def serving(log: Path, settings: dict[str, object]) -> Iterator[Server]:
    """Start a server with the tiny model or what the settings say, and wait until it is ready."""
    defaults: dict[str, object] = {
        "model": TINY_BUNDLE,
        "detection": "off",
        "drain_s": 0,
        "port": free_port(),
    }
    chosen = {name: value for name, value in {**defaults, **settings}.items() if value is not None}
    environment = {f"DRAGOMAN_{name.upper()}": str(value) for name, value in chosen.items()}
    log.touch()
    with (
        ForkedProcess(run_command, ["serve"], {**os.environ, **environment}, log.parent, log) as process,
        ExitStack() as running,
    ):
        address = f"http://{HOST}:{chosen['port']}"
        client = running.enter_context(httpx.Client(base_url=address, timeout=TIMEOUT_S, verify=NO_TLS))
        until(lambda: process.poll() is not None or answers(client))
        assert process.poll() is None, log.read_text()
        yield Server(process, HOST, int(str(chosen["port"])), client, log)


def free_port() -> int:
    """Return a port below those that the system gives to servers and clients of other tests."""
    for port in PORTS:
        with socket.socket() as one, suppress(OSError):
            one.bind((HOST, port))
            return port
    raise AssertionError("all ports are in use")


@pytest.fixture
def start_server(tmp_path: Path) -> Iterator[StartServer]:
    """Start servers with these settings: `start_server(queue_size=4)`."""
    with ExitStack() as running:
        number = 0

        def start(**settings: object) -> Server:
            nonlocal number
            number += 1
            return running.enter_context(serving(tmp_path / f"server-{number}.log", settings))

        yield start


@pytest.fixture
def disruptor() -> Iterator[DisruptingMetrics]:
    disruptor = DisruptingMetrics()
    yield disruptor
    disruptor.may_go_on.set()


@contextmanager
def disrupted_router(disruptor: DisruptingMetrics, queue_size: int, replicas: int) -> Iterator[Router]:
    """The tiny model with the real engine."""
    options = TranslatorOptions(replicas=replicas, queue_size=queue_size, engine_metrics=disruptor)
    with Router.open({"tiny": TINY_BUNDLE}, translators=options) as router:
        yield router
