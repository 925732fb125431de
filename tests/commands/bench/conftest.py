"""A server that clients attack."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.hostile.clients import Site
from bench.hostile.service import SETTINGS, make_site
from dragoman.bundle import open_bundle
from tests.engine.routing.doubles import write_bundle
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator

TEXTS = ["ein hund", "eine katze", "zwei hunde"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A server with the engine's double, and keys."""
    bundle = write_bundle(tmp_path / "tiny", "tiny-de-en")
    double = DoubleTranslator(open_bundle(bundle).manifest)
    url = f"sqlite:///{tmp_path / 'accounts.db'}"
    settings: dict[str, Any] = {
        name.removeprefix("DRAGOMAN_").lower(): value for name, value in SETTINGS.items()
    }
    with router_of(double, bundle) as router, ready_client(router, database_url=url, **settings) as client:
        yield make_site(str(client.base_url).rstrip("/"), url)
        double.released.set()
