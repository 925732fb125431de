"""Our service in a separate process, for the duration of a measurement."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.contenders import pin

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
    address = f"http://127.0.0.1:{port}"
    options = ["--model", str(bundle), "--port", str(port), "--log-level", "error"]
    no_cache = {"DRAGOMAN_SEGMENT_CACHE_SIZE": "0"}  # benchmarks repeat their sentences
    process = subprocess.Popen(  # noqa: S603 -- our own
        [sys.executable, "-m", "service", "serve", *options],
        env={**os.environ, **no_cache, **settings},
    )
    try:
        pin(process.pid, cpus)  # it starts one worker per available CPU
        _wait_until_ready(address, process)
        yield Service(address, process.pid)
    finally:
        process.terminate()
        process.wait()


def _wait_until_ready(address: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the service ended with status {process.returncode}")
        try:
            if httpx.get(f"{address}/readyz").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(POLL_S)
    raise TimeoutError(f"{address} is not ready after {START_TIMEOUT_S:.0f} s")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
