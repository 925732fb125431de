"""Our service, or a plain one around CTranslate2, in a separate process for the duration of a measurement."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.contenders import pin
from bench.models import PEERS_PYTHON

CPUS = 2
"""Number of CPUs that the service usually gets."""
START_TIMEOUT_S = 60.0
POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class Service:
    """A running service."""

    address: str
    pid: int


@contextmanager
def service_process(bundle: Path, cpus: int, settings: Mapping[str, str]) -> Iterator[Service]:
    """Start `dragoman serve` on `cpus` CPUs and a free port; yield address and pid when it is ready.

    `settings` are environment variables.

    Raises:
        TimeoutError: it is not ready after a minute.
    """
    port = _free_port()
    options = ["--model", str(bundle), "--port", str(port), "--log-level", "error"]
    defaults = {
        "DRAGOMAN_SEGMENT_CACHE_SIZE": "0",  # benchmarks repeat their sentences
        "DRAGOMAN_DRAIN_S": "0",  # and their clients have gone before the server stops
    }
    with _process(
        [sys.executable, "-m", "service", "serve", *options], port, cpus, {**defaults, **settings}
    ) as one:
        yield one


@contextmanager
def ctranslate2_process(model: Path, tokenizer: Path, cpus: int) -> Iterator[Service]:
    """Start a plain HTTP server around CTranslate2 with `cpus` replicas; yield it when it is ready.

    Raises:
        TimeoutError: it is not ready after a minute.
    """
    port = _free_port()
    settings = {"model": str(model), "tokenizer": str(tokenizer), "workers": cpus, "port": port}
    command = [str(PEERS_PYTHON), "-m", "bench.peers.ctranslate2_http", json.dumps(settings)]
    with _process(command, port, cpus, {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}) as one:
        yield one


@contextmanager
def _process(
    command: Sequence[str], port: int, cpus: int, environment: Mapping[str, str]
) -> Iterator[Service]:
    address = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(command, env={**os.environ, **environment})  # noqa: S603 -- our own
    try:
        pin(process.pid, cpus)  # the service starts one worker per available CPU
        _wait_until_ready(address, process)
        yield Service(address, process.pid)
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(address: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    with httpx.Client(base_url=address) as client:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise RuntimeError(f"the server ended with status {process.returncode}")
            with suppress(httpx.TransportError):
                if client.get("/readyz").status_code == httpx.codes.OK:
                    return
            time.sleep(POLL_S)
    raise TimeoutError(f"{address} is not ready after {START_TIMEOUT_S:.0f} s")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
