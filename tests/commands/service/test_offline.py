"""The command and the server work in a network namespace without any interface that is up."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from tests.engine.routing.doubles import TIMEOUT_S, until
from tests.paths import MODELS, ROOT
from tests.service.conftest import answers

OFFLINE = ["unshare", "--user", "--map-root-user", "--net"]
COMMAND = [*OFFLINE, sys.executable, "-m", "service"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "DRAGOMAN_MODELS_DIR": str(MODELS)}
GERMAN, ENGLISH = "Ein Hund rennt.", "A dog runs."


def has_namespaces() -> bool:
    """Whether this user may create them."""
    try:
        return subprocess.run([*OFFLINE, "true"], check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


def listens(path: Path) -> bool:
    """Whether a server accepts connections; the client leaves sockets open that it cannot connect."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


pytestmark = pytest.mark.skipif(not has_namespaces(), reason="network namespaces cannot be created here")


@pytest.fixture
def server() -> Iterator[httpx.Client]:
    """A client of an offline server: its socket is a file, which namespaces share."""
    with TemporaryDirectory(prefix="dragoman-") as folder:
        path = Path(folder) / "server.sock"
        with (
            subprocess.Popen([*COMMAND, "serve", "--uds", str(path)], cwd=folder, env=ENVIRONMENT) as process,
            httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://here") as client,
        ):
            try:
                until(lambda: listens(path))
                until(lambda: answers(client))
                yield client
            finally:
                process.terminate()
                process.wait(TIMEOUT_S)


def test_a_namespace_has_no_network() -> None:
    reach = "import socket; socket.create_connection(('127.0.0.1', 9), 1)"
    done = subprocess.run(
        [*OFFLINE, sys.executable, "-c", reach], check=False, capture_output=True, text=True
    )

    assert "Network is unreachable" in done.stderr


def test_the_command_translates_a_text_and_a_file_without_a_network(tmp_path: Path) -> None:
    (tmp_path / "in.md").write_text(f"# {GERMAN}\n")

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [*COMMAND, *arguments], cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True, text=True
        )
        return done.stdout

    assert run("translate", GERMAN, "--target", "en") == f"{ENGLISH}\n"
    run("batch", "in.md", "-o", "out.md", "--target", "en")
    assert (tmp_path / "out.md").read_text() == f"# {ENGLISH}\n"


def test_the_server_translates_detects_and_shows_its_page_without_a_network(server: httpx.Client) -> None:
    answer = server.post("/v1/translate", json={"text": GERMAN, "target": "en"}).json()
    form = {"text": GERMAN, "target_lang": "EN"}

    assert answer["translations"][0]["text"] == ENGLISH
    assert answer["translations"][0]["detected"]["language"] == "de"
    assert server.post("/v2/translate", data=form).json()["translations"][0]["text"] == ENGLISH
    assert server.get("/").status_code == 200
