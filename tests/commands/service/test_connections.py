"""A server talks to nobody but those who talk to it: no telemetry, no updates, no names looked up."""

import ipaddress
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.commands.faults.conftest import free_port
from tests.engine.routing.doubles import until
from tests.paths import ROOT
from tests.service.conftest import TINY_BUNDLE, answers

TIMEOUT_S = 60
ELSEWHERE = "192.0.2.1"
"""Nobody's address: RFC 5737. Connecting a datagram socket to it sends nothing."""
STRACE = shutil.which("strace")
OPTIONS = ["-f", "-qq", "--seccomp-bpf", "-e", "trace=connect,sendto,sendmsg,sendmmsg"]

WATCHING = """
import sys

path = sys.argv[1]

def tell(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname"):
        with open(path, "a") as told:
            print(event, *arguments[-1:] if event != "socket.getaddrinfo" else arguments[:1], file=told)

sys.addaudithook(tell)
sys.argv = sys.argv[:1] + sys.argv[2:]
"""
SERVING = WATCHING + "from service.cli.app import main\nmain()\n"
CONNECTING = (
    WATCHING
    + f"import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(({ELSEWHERE!r}, 9))\n"
)


def watched(script: str, reported: Path, *arguments: str) -> list[str]:
    """A command whose connections are written to a file, by the kernel's account and by the interpreter's."""
    python = [sys.executable, "-c", script, str(reported), *arguments]
    return python if STRACE is None else [STRACE, *OPTIONS, "-o", f"{reported}.kernel", *python]


def elsewhere(reported: Path) -> list[str]:
    """Whom a command talked to that is not on this machine."""
    kernel = Path(f"{reported}.kernel")
    text = "".join(path.read_text() for path in (reported, kernel) if path.exists())
    addresses = re.findall(
        r"inet_addr\(\"([^\"]+)\"|AF_INET6, \"([^\"]+)\"|^socket\.\w+ \('([^']+)'", text, re.MULTILINE
    )
    found = ["".join(address) for address in addresses]
    named = re.findall(r"^socket\.get\w+ (\S+)", text, re.MULTILINE)
    return [address for address in found if not ipaddress.ip_address(address).is_loopback] + [
        name for name in named if name not in {"127.0.0.1", "localhost", "None"}
    ]


def test_a_connection_would_be_seen(tmp_path: Path) -> None:
    subprocess.run(watched(CONNECTING, tmp_path / "told"), cwd=ROOT, check=True, timeout=TIMEOUT_S)

    assert elsewhere(tmp_path / "told") == [ELSEWHERE] * (1 if STRACE is None else 2)


@pytest.mark.timeout(180)
def test_nothing_leaves_the_machine_while_a_server_starts_and_translates(tmp_path: Path) -> None:
    port, home = free_port(), tmp_path / "home"
    home.mkdir()
    command = watched(SERVING, tmp_path / "told", "serve", "--model", str(TINY_BUNDLE), "--port", str(port))
    settings = {"DRAGOMAN_APIS": "native", "DRAGOMAN_DRAIN_S": "0"}
    environment = {**surroundings(), "HOME": str(home), "PYTHONPATH": str(ROOT), **settings}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, start_new_session=True) as server:
        try:
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=TIMEOUT_S) as client:
                until(lambda: server.poll() is not None or answers(client))
                translated = client.post("/v1/translate", json={"text": "ab cd", "source": "de"})
                client.post("/v1/translate", json={"text": "Das ist ein deutscher Satz."})
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(TIMEOUT_S)

    assert translated.status_code == 200
    assert elsewhere(tmp_path / "told") == []
    assert list(home.rglob("*")) == []


IMPORTING = """
import importlib, os, sys
import numpy  # which takes longest, and does not import onnxruntime

class Gate:
    def find_spec(name, path=None, target=None):
        if name == "onnxruntime":
            print(os.environ.get("ORT_DISABLE_TELEMETRY"), flush=True)
            os._exit(0)

sys.meta_path.insert(0, Gate)
for module in sys.argv[1:]:
    print(module, end=" ", flush=True)
    if not (process := os.fork()):
        importlib.import_module(module)
        print("imported without it", flush=True)
        os._exit(0)
    os.waitpid(process, 0)
"""
IMPORTERS = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for package in ("dragoman", "service", "export", "bench")
    for path in (ROOT / package).rglob("*.py")
    if re.search(r"^(import|from) onnxruntime", path.read_text(encoding="utf8"), re.MULTILINE)
)


@pytest.fixture(scope="module")
def set_at_import(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What onnxruntime is told when a process imports one module alone, by module."""
    environment = {**surroundings(), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", IMPORTING, *IMPORTERS]
    folder = tmp_path_factory.mktemp("elsewhere")
    said = subprocess.check_output(command, cwd=folder, env=environment, text=True, timeout=TIMEOUT_S)
    return dict(line.split(" ", 1) for line in said.splitlines())


@pytest.mark.parametrize("module", IMPORTERS)
def test_onnxruntime_telemetry_is_disabled_before_its_import(
    set_at_import: dict[str, str], module: str
) -> None:
    assert set_at_import[module] == "1"


def surroundings() -> dict[str, str]:
    """This process's environment without our settings and without what keeps onnxruntime silent anyway."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DRAGOMAN_", "ORT_", "XDG_", "CI", "GITHUB_"))
    }
