"""A server listens on a Unix socket, and closes its databases also if it cannot start or is cancelled."""

import asyncio
import re
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from service.accounts.database import Database
from service.accounts.errors import RatesInvalid
from service.server.app import create_app
from service.server.server import create_server
from service.server.sockets import open_sockets
from service.settings.settings import Settings, SettingsError, load_settings
from tests.service.conftest import router_of, running
from tests.service.doubles import DoubleTranslator


@pytest.fixture
def path() -> Iterator[Path]:
    with TemporaryDirectory(prefix="dragoman-") as folder:  # the path of a socket must be short
        yield Path(folder) / "server.sock"


def settings_of(path: Path, **overrides: object) -> Settings:
    return load_settings(overrides={"uds": path, "detection": "off", "jobs": "off", **overrides})


@contextmanager
def serving(settings: Settings, translator: DoubleTranslator, models_dir: Path) -> Iterator[httpx.Client]:
    transport = httpx.HTTPTransport(uds=str(settings.uds))
    with router_of(translator, models_dir / "tiny") as router, open_sockets(settings) as sockets:
        server = create_server(create_app(router, settings, []), settings)
        with running(server, sockets), httpx.Client(transport=transport, base_url="http://here") as client:
            yield client


@pytest.mark.parametrize("mode", ["660", "600"])
def test_the_socket_serves_with_its_permissions_and_ends_with_the_server(
    path: Path, mode: str, translator: DoubleTranslator, models_dir: Path
) -> None:
    with serving(settings_of(path, uds_mode=mode), translator, models_dir) as client:
        assert client.post("/v1/translate", json={"text": "eins"}).json()["translations"][0]["text"] == "EINS"
        assert stat.S_IMODE(path.stat().st_mode) == int(mode, 8)
    assert not path.exists()


@pytest.mark.parametrize(("proxies", "statuses"), [("unix", [200, 200, 429]), ("", [200, 429, 429])])
def test_a_trusted_proxy_at_the_socket_names_its_clients(
    path: Path, proxies: str, statuses: list[int], translator: DoubleTranslator, models_dir: Path
) -> None:
    settings = settings_of(path, trusted_proxies=proxies, rate_limit="1/hour")
    with serving(settings, translator, models_dir) as client:
        assert [
            client.post(
                "/v1/translate", json={"text": "eins"}, headers={"X-Forwarded-For": address}
            ).status_code
            for address in ("192.0.2.1", "192.0.2.2", "192.0.2.1")
        ] == statuses


def test_a_socket_that_a_killed_server_left_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    with open_sockets(settings_of(path)) as sockets:
        assert sockets is not None
        sockets[0].listen()
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def rejection(path: Path) -> str:
    with pytest.raises(SettingsError) as rejected, open_sockets(settings_of(path)):
        pass
    return str(rejected.value)


def test_an_address_in_use_or_unbindable_is_rejected(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        assert re.search("uds: cannot listen on .*another process", rejection(path))
        assert path.is_socket()
    path.unlink()
    path.write_text("mine")
    assert "not a socket" in rejection(path)
    assert path.read_text() == "mine"
    assert re.search("uds: cannot listen on .*too long", rejection(path.parent / ("x" * 200)))


def test_a_socket_of_a_later_server_is_not_removed(path: Path) -> None:
    with open_sockets(settings_of(path)), socket.socket(socket.AF_UNIX) as later:
        path.unlink()
        later.bind(str(path))
    assert path.is_socket()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database whose tables are there already, so that connections to it are kept open."""
    path = tmp_path / "accounts.db"
    Database.open(f"sqlite:///{path}").close()
    return path


def database_settings(file: Path, **overrides: object) -> Settings:
    return load_settings(overrides={"database_url": f"sqlite:///{file}", "detection": "off", **overrides})


def is_open(file: Path) -> bool:
    return any(link.is_symlink() and link.readlink() == file for link in Path("/proc/self/fd").iterdir())


def test_a_cancelled_server_closes_its_databases(
    file: Path, translator: DoubleTranslator, models_dir: Path
) -> None:
    async def be_cancelled() -> None:
        async with app.router.lifespan_context(app):
            assert is_open(file)
            raise asyncio.CancelledError

    with router_of(translator, models_dir / "tiny") as router:
        app = create_app(router, database_settings(file, jobs="off"), ())
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(be_cancelled())

        assert not is_open(file)


def test_a_server_that_cannot_start_leaves_no_database_open(
    file: Path, translator: DoubleTranslator, models_dir: Path
) -> None:
    with router_of(translator, models_dir / "tiny") as router, pytest.raises(RatesInvalid):
        create_app(router, database_settings(file, rate_storage_url="memcached://host"), ())

    assert not is_open(file)
