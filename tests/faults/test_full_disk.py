"""No room for the key store: who needs it is told so, the others go on, and all works again with room."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from service.accounts.accounts import Accounts
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from tests.accounts.conftest import new_key
from tests.faults.conftest import URL, StartServer
from tests.service.test_hostile_requests import assert_is_error

DISK = "2m"
OK = httpx.codes.OK


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A tiny file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount or "mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", str(folder)]
    if os.geteuid() or mount is None or subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("only root can mount a file system, and only where that is allowed")
    yield folder
    subprocess.run([shutil.which("umount") or "umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """A file that takes all the room there is."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            return filler


def test_a_full_disk_fails_only_requests_that_are_charged_until_there_is_space(
    disk: Path, start_server: StartServer
) -> None:
    url = f"sqlite:///{disk / 'accounts.db'}"
    with closing(Database.open(url)) as database:
        key = new_key(KeyStore(database)).presented
    server = start_server(database_url=url)

    def ask(headers: dict[str, str]) -> httpx.Response:
        return server.client.post(URL, json={"text": "Ja."}, headers=headers)

    with_key = {"Authorization": f"Bearer {key}"}
    assert ask(with_key).status_code == OK
    filler = fill(disk)

    for _ in range(3):
        refused = ask(with_key)
        assert_is_error(refused, 503, "store_unavailable")
        assert refused.headers["Retry-After"]
        assert key not in refused.text
        assert str(disk) not in refused.text
        assert ask({}).status_code == OK
    assert {server.client.get(path).status_code for path in ("/healthz", "/readyz")} == {OK}
    assert "the accounts database failed" in server.log.read_text()

    filler.unlink()
    assert ask(with_key).status_code == OK
    assert server.stop() == 0
    with Accounts.open(url, requires_key=False) as accounts:
        assert accounts.usage(accounts.identify(key)).characters == 2 * len("Ja.")
