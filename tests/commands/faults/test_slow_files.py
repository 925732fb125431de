"""Files that take long to read: of a client that leaves, and beside those of another client."""

import gzip
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import httpx
import pytest

from bench.hostile.attacks import encode_form
from bench.hostile.patterns import MULTIPART
from tests.commands.faults.conftest import LANGUAGES, Server, StartServer
from tests.engine.routing.doubles import until
from tests.service.keys import Keys

LONG = gzip.compress(b"ein Hund\n" * 10_000_000, 9, mtime=0)
"""Takes a process that reads it far longer than this test has."""
UNIT = '<tu><tuv xml:lang="de"><seg>Hund</seg></tuv></tu>'
MEMORY = f'<tmx version="1.4"><header srclang="de"/><body>{UNIT * 180_000}</body></tmx>'.encode()
ENDED_S = 5.0
"""Over twice the time in which work ends: the tests share their cores."""
NUM_HOSTILE = 6
"""Number of long files at a time: more than there are slots."""


@pytest.fixture
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(f"sqlite:///{tmp_path_factory.mktemp('accounts') / 'accounts.db'}")


@pytest.fixture
def server(start_server: StartServer, keys: Keys) -> Server:
    return start_server(database_url=keys.url, requires_key="true", log_level="warning")


@contextmanager
def sending(server: Server, path: str, name: str, content: bytes, key: str) -> Iterator[None]:
    """Send a file without waiting for the response, and disconnect when the block ends."""
    languages = {"target_lang": "EN"} if path == "/v2/document" else LANGUAGES
    scheme = "DeepL-Auth-Key" if path == "/v2/document" else "Bearer"
    body = encode_form(languages, name, content)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: test\r\nAuthorization: {scheme} {key}\r\n"
        f"Content-Type: {MULTIPART}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(server.address, timeout=60) as connection:
        connection.sendall(head.encode() + body)
        yield


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("path", "name", "content"),
    [
        *((path, "a.txt.gz", LONG) for path in ("/v1/jobs", "/v2/document", "/translate_file")),
        ("/v1/memories?name=x", "a.tmx", MEMORY),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_check_or_import_of_a_file_ends_with_its_client(
    server: Server, keys: Keys, path: str, name: str, content: bytes
) -> None:
    with sending(server, path, name, content, keys.make()):
        until(server.children)
    left_s = time.monotonic()
    until(lambda: not server.children())
    assert time.monotonic() - left_s < ENDED_S


@pytest.mark.timeout(120)
def test_a_key_that_sends_long_files_delays_no_file_of_another(server: Server, keys: Keys) -> None:
    key = keys.make()
    with ExitStack() as clients:
        for _ in range(NUM_HOSTILE):
            clients.enter_context(sending(server, "/v1/jobs", "a.txt.gz", LONG, key))
        until(lambda: len(server.children()) == 2)
        sent = server.send_file(b"ein Hund\n", **keys.bearer())
        assert sent.status_code == httpx.codes.ACCEPTED
        assert len(server.children()) >= 2  # the long files are still being read
