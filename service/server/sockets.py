"""Sockets of the server that uvicorn does not open itself: a Unix socket, and a port that processes share."""

import logging
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from service.settings.groups import NetworkSettings
from service.settings.settings import SettingsError

logger = logging.getLogger(__name__)


@contextmanager
def open_sockets(settings: NetworkSettings) -> Iterator[list[socket.socket] | None]:
    """Open the sockets until the block ends; None if uvicorn is to listen on `host` and `port`.

    Raises:
        SettingsError: the Unix socket cannot be created.
        OSError: the port cannot be bound.
    """
    if settings.uds is not None:
        with _open_unix_socket(settings.uds, int(settings.uds_mode, 8)) as opened:
            yield [opened]
    elif settings.reuse_port:
        yield [_open_shared_socket(settings)]
    else:
        yield None


@contextmanager
def _open_unix_socket(path: Path, mode: int) -> Iterator[socket.socket]:
    """Bind a socket at a path, in place of one that a killed server left; remove it when the block ends."""
    opened = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _remove_stale_socket(path)
        opened.bind(str(path))
        path.chmod(mode)  # nobody can connect yet: the server listens later
        bound = path.stat()
    except OSError as error:
        opened.close()
        raise SettingsError(f"uds: cannot listen on {path}: {error.strerror or error}") from error
    logger.info("listening on Unix socket %s", path)
    try:
        yield opened
    finally:
        opened.close()
        with suppress(FileNotFoundError):
            if os.path.samestat(path.lstat(), bound):  # another server may have taken the path over
                path.unlink()


def _remove_stale_socket(path: Path) -> None:
    """Remove a socket that nothing listens on. Raises OSError if the path is used otherwise."""
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(None, "the file is not a socket; remove it, or use another path")
    except FileNotFoundError:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        try:
            client.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise FileExistsError(None, "another process listens on it")


def _open_shared_socket(settings: NetworkSettings) -> socket.socket:
    """Return a socket bound to a port that other processes can bind. Raises OSError and SettingsError."""
    if not hasattr(socket, "SO_REUSEPORT"):
        raise SettingsError("reuse_port: processes cannot share a port on this platform")
    [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
        settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    shared = socket.socket(family, kind, protocol)
    shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    shared.bind(address)
    return shared
