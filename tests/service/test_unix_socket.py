"""A server listens on a Unix socket instead of a port, and takes the path only if nobody else uses it."""

import socket
import stat
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest

from service.app import create_app
from service.listening import open_sockets
from service.server import create_server
from service.settings import Settings, SettingsError, load_settings
from tests.routing.doubles import TIMEOUT_S, until
from tests.service.conftest import forget_settings, router_of
from tests.service.doubles import DoubleTranslator


@pytest.fixture(autouse=True)
def no_settings_around(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_settings(monkeypatch)


@pytest.fixture
def path() -> Iterator[Path]:
    with TemporaryDirectory(prefix="dragoman-") as folder:  # the path of a socket must be short
        yield Path(folder) / "server.sock"


def settings_of(path: Path, **overrides: object) -> Settings:
    return load_settings(overrides={"uds": path, "detection": "off", "jobs": "off", **overrides})


@contextmanager
def running(settings: Settings, translator: DoubleTranslator, models_dir: Path) -> Iterator[httpx.Client]:
    with ExitStack() as opened:
        router = opened.enter_context(router_of(translator, models_dir / "tiny"))
        server = create_server(create_app(router, settings, []), settings)
        sockets = opened.enter_context(open_sockets(settings))
        thread = threading.Thread(target=server.run, args=(sockets,))
        thread.start()
        try:
            until(lambda: server.started)
            transport = httpx.HTTPTransport(uds=str(settings.uds))
            with httpx.Client(transport=transport, base_url="http://here", timeout=TIMEOUT_S) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(TIMEOUT_S)


@pytest.mark.parametrize("mode", ["660", "600"])
def test_the_socket_serves_with_its_permissions_and_ends_with_the_server(
    path: Path, mode: str, translator: DoubleTranslator, models_dir: Path
) -> None:
    with running(settings_of(path, uds_mode=mode), translator, models_dir) as client:
        assert client.post("/v1/translate", json={"text": "eins"}).json()["translations"][0]["text"] == "EINS"
        assert stat.S_IMODE(path.stat().st_mode) == int(mode, 8)
    assert not path.exists()


@pytest.mark.parametrize(("proxies", "statuses"), [("unix", [200, 200, 429]), ("", [200, 429, 429])])
def test_a_trusted_proxy_at_the_socket_names_its_clients(
    path: Path, proxies: str, statuses: list[int], translator: DoubleTranslator, models_dir: Path
) -> None:
    settings = settings_of(path, trusted_proxies=proxies, rate_limit="1/hour")
    with running(settings, translator, models_dir) as client:
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


def test_a_socket_in_use_is_left_to_its_owner(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        with (
            pytest.raises(SettingsError, match=r"uds: cannot listen on .*another process"),
            open_sockets(settings_of(path)),
        ):
            pass
        assert path.is_socket()


def test_a_socket_of_a_later_server_is_not_removed(path: Path) -> None:
    with open_sockets(settings_of(path)), socket.socket(socket.AF_UNIX) as later:
        path.unlink()
        later.bind(str(path))
    assert path.is_socket()


def test_a_file_is_not_replaced(path: Path) -> None:
    path.write_text("mine")
    with pytest.raises(SettingsError, match="not a socket"), open_sockets(settings_of(path)):
        pass
    assert path.read_text() == "mine"


def test_a_path_that_cannot_be_bound_is_an_error(path: Path) -> None:
    with (
        pytest.raises(SettingsError, match=r"uds: cannot listen on .*too long"),
        open_sockets(settings_of(path / ("x" * 200))),
    ):
        pass


@pytest.mark.parametrize("other", [{"host": "::1"}, {"port": 9}, {"reuse_port": True}])
def test_a_socket_and_a_port_contradict_each_other(path: Path, other: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match=f"uds: .*remove {next(iter(other))}, or uds"):
        settings_of(path, **other)


@pytest.mark.parametrize("mode", ["999", "0o660", "66", "rw-"])
def test_permissions_are_octal_digits(path: Path, mode: str) -> None:
    with pytest.raises(SettingsError, match=r"uds_mode .*three octal digits"):
        settings_of(path, uds_mode=mode)
