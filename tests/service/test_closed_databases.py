"""A server closes its databases, also if it cannot start or is cancelled."""

import asyncio
from pathlib import Path

import pytest

from service.accounts.database import Database
from service.accounts.errors import RatesInvalid
from service.app import create_app
from service.settings import Settings, load_settings
from tests.service.conftest import router_of
from tests.service.doubles import DoubleTranslator


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A database whose tables are there already, so that connections to it are kept open."""
    path = tmp_path / "accounts.db"
    Database.open(f"sqlite:///{path}").close()
    return path


def settings_of(file: Path, **overrides: object) -> Settings:
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
        app = create_app(router, settings_of(file, jobs="off"), ())
        with pytest.raises(asyncio.CancelledError):
            asyncio.run(be_cancelled())

        assert not is_open(file)


def test_a_server_that_cannot_start_leaves_no_database_open(
    file: Path, translator: DoubleTranslator, models_dir: Path
) -> None:
    with router_of(translator, models_dir / "tiny") as router, pytest.raises(RatesInvalid):
        create_app(router, settings_of(file, rate_storage_url="memcached://host"), ())

    assert not is_open(file)
