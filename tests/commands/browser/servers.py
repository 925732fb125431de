"""Servers in processes of their own, which tests may kill."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.paths import ROOT

COMMAND = (sys.executable, "-m", "service")
DOUBLE_COMMAND = (sys.executable, str(ROOT / "tests" / "service" / "doubles.py"))
START_TIMEOUT_S = 120


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def environment(settings: Mapping[str, object]) -> dict[str, str]:
    """Return the environment of a command with these settings, and no others."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DRAGOMAN_")}
    given = {f"DRAGOMAN_{name.upper()}": str(value) for name, value in settings.items()}
    return {**inherited, "PYTHONPATH": str(ROOT), **given}


class Server:
    """A server on a port that stays the same when it is started again."""

    def __init__(self, command: Sequence[str], folder: Path, **settings: object) -> None:
        self._port = free_port()
        self._arguments = [*command, "serve", "--port", str(self._port)]
        self._folder = folder
        self._environment = environment({"drain_s": 0, **settings})
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}/"

    def start(self) -> None:
        """Start it; return when it is ready."""
        with (self._folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                self._arguments, cwd=self._folder, env=self._environment, stdout=log, stderr=log
            )
        end = time.monotonic() + START_TIMEOUT_S
        while not self._is_ready():
            if time.monotonic() > end or self._process.poll() is not None:
                self.kill()
                raise RuntimeError((self._folder / "server.log").read_text(encoding="utf8"))
            time.sleep(0.05)

    def kill(self) -> None:
        """End it in the middle of what it does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}readyz", timeout=5) as response:  # noqa: S310 -- our server
                return bool(response.status == 200)
        except OSError:
            return False
