"""Databases of both kinds, a clock that tests move, and accounts on them."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

from service.accounts.accounts import Accounts, AccountsOptions, Clock
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyWishes, NewKey

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
KEY_TTL_S = 10.0
INITDB_OPTIONS = ["-A", "trust", "-E", "UTF8", "-N", "--locale=C"]


@dataclass
class Times:
    """What the time is, as tests set it."""

    now: datetime = NOON
    monotonic_s: float = 1000.0

    def clock(self) -> Clock:
        return Clock(lambda: self.now, lambda: self.monotonic_s)


@dataclass
class Postgres:
    """A server of its own, as a user who is not root, that listens in a folder alone."""

    folder: Path
    user: str
    _numbers: Iterator[int] = field(default_factory=count)

    def url(self, name: str) -> str:
        return f"postgresql://{self.user}@/{name}?host={self.folder}"

    def new_database(self) -> str:
        """The URL of an empty one."""
        name = f"dragoman{next(self._numbers)}"
        engine = create_engine(
            self.url("postgres").replace("postgresql:", "postgresql+psycopg:"), isolation_level="AUTOCOMMIT"
        )
        with engine.connect() as connection:
            connection.execute(text(f"CREATE DATABASE {name}"))
        engine.dispose()
        return self.url(name)


@contextmanager
def run_postgres() -> Iterator[Postgres]:
    initdb = shutil.which("initdb")
    if initdb is None:
        pytest.skip("PostgreSQL's initdb is not installed")
    programs = Path(initdb).resolve().parent
    user = pwd.getpwuid(os.getuid()).pw_name if os.getuid() else "nobody"
    as_user = None if os.getuid() else user  # the server refuses to run as root
    folder = Path(tempfile.mkdtemp(prefix="dragoman-"))  # a socket's path must be short
    shutil.chown(folder, user)
    try:
        subprocess.run(
            [str(programs / "initdb"), "-D", str(folder / "data"), *INITDB_OPTIONS],
            check=True, user=as_user, cwd=folder, capture_output=True,
        )  # fmt: skip
        options = {"listen_addresses": "", "unix_socket_directories": str(folder), "fsync": "off"}
        settings = [f"-c{name}={value}" for name, value in options.items()]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [str(programs / "postgres"), "-D", str(folder / "data"), *settings],
                user=as_user, cwd=folder, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            is_ready = [str(programs / "pg_isready"), "-h", str(folder), "-t", "30"]
            while subprocess.run(is_ready, check=False, capture_output=True).returncode != 0:
                assert server.poll() is None, (folder / "log").read_text()
            yield Postgres(folder, user)
        finally:
            server.terminate()
            server.wait(60)
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with run_postgres() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'accounts.db'}"
    server: Postgres = request.getfixturevalue("postgres")
    return server.new_database()


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    opened = Database.open(url)
    yield opened
    opened.close()


@pytest.fixture
def times() -> Times:
    return Times()


@pytest.fixture
def accounts(url: str, times: Times) -> Iterator[Accounts]:
    """Of a server that requires keys."""
    with open_accounts(url, times, requires_key=True) as opened:
        yield opened


def open_accounts(url: str, times: Times, *, requires_key: bool) -> Accounts:
    options = AccountsOptions(key_ttl_s=KEY_TTL_S, clock=times.clock())
    return Accounts.open(url, requires_key=requires_key, options=options)


@pytest.fixture
def keys(database: Database) -> KeyStore:
    return KeyStore(database)


def new_key(keys: KeyStore, wishes: KeyWishes | None = None) -> NewKey:
    return keys.create(wishes or KeyWishes("tests"), NOON)
