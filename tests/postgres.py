"""PostgreSQL for tests, where it is installed."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

INITDB_OPTIONS = ["-A", "trust", "-E", "UTF8", "-N", "--locale=C"]


@dataclass
class Postgres:
    """A server of its own, as a user who is not root, that listens in a folder alone."""

    folder: Path
    user: str
    _numbers: Iterator[int] = field(default_factory=count)

    def new_database(self) -> str:
        """The URL of an empty one: a schema of its own user, which takes a tenth of the time."""
        user = f"dragoman{next(self._numbers)}"
        engine = create_engine(f"postgresql+psycopg://{self.user}@/postgres?host={self.folder}")
        with engine.begin() as connection:
            connection.execute(text(f"CREATE ROLE {user} LOGIN SUPERUSER"))
            connection.execute(text(f"CREATE SCHEMA AUTHORIZATION {user}"))
        engine.dispose()
        return f"postgresql://{user}@/postgres?host={self.folder}"


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
            server.send_signal(signal.SIGQUIT)  # at once: nothing of it is wanted any more
            server.wait(60)
    finally:
        shutil.rmtree(folder)
