"""Servers with LibreTranslate's API."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman import Translator
from dragoman.routing.bundle_scan import bundle_folders
from dragoman.routing.router import Router
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.keys import DEFAULT_SCOPES, NO_LIMITS, KeyLimits, KeyOptions, Scope
from tests.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import SIZE_BYTES, TINY_BUNDLE, forget_settings, ready_client, router_of

Serve = Callable[..., httpx.Client]
MakeKey = Callable[..., str]


@pytest.fixture(autouse=True, scope="module")
def no_settings_around() -> Iterator[None]:
    """Settings of whoever runs the tests change none of them."""
    with pytest.MonkeyPatch.context() as patch:
        forget_settings(patch)
        yield


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`a`: de -> en, `b`: en -> fr, `c`: en -> pt-BR and zh-Hant, `d`: zh -> en."""
    folder = tmp_path_factory.mktemp("models")
    write_bundle(folder / "a", "german")
    write_bundle(folder / "b", "french", ["en"], ["fr"])
    write_bundle(folder / "c", "wide", ["en"], ["pt-BR", "zh-Hant"])
    write_bundle(folder / "d", "chinese", ["zh"], ["en"])
    return folder


@pytest.fixture(scope="module")
def bundles() -> Iterator[DoubleBundles]:
    """Doubles that put their names behind what they translate."""
    doubles = DoubleBundles()
    yield doubles
    for double in doubles.opened:
        double.released.set()


@pytest.fixture(scope="module")
def client(models: Path, bundles: DoubleBundles) -> Iterator[httpx.Client]:
    """A client of a server that detects languages, which a module's tests share."""
    with (
        Router(lambda: bundle_folders(models), bundles.open, lambda _: SIZE_BYTES) as router,
        ready_client(router, detection="on") as shared,
    ):
        yield shared


@pytest.fixture
def serve(models: Path) -> Iterator[Serve]:
    """Start another server over the same models with these settings; gives a client once it is ready."""
    bundles = DoubleBundles()
    with ExitStack() as running:

        def start(**settings: object) -> httpx.Client:
            router = Router(lambda: bundle_folders(models), bundles.open, lambda _: SIZE_BYTES)
            running.enter_context(router)
            return running.enter_context(ready_client(router, **settings))

        yield start


@pytest.fixture(scope="module")
def engine_client() -> Iterator[httpx.Client]:
    """A client of a server with the real engine and a tiny model, de -> en."""
    with (
        Translator.open(TINY_BUNDLE) as translator,
        router_of(translator, TINY_BUNDLE) as router,
        ready_client(router, detection="on") as shared,
    ):
        yield shared


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'accounts.db'}"


@pytest.fixture
def make_key(database_url: str) -> MakeKey:
    """Make a key with these limits."""

    def make(limits: KeyLimits = NO_LIMITS, scopes: frozenset[Scope] = DEFAULT_SCOPES) -> str:
        database = Database.open(database_url, timeout_s=5.0)
        try:
            return KeyStore(database).create(KeyOptions("test", scopes, limits), datetime.now(UTC)).presented
        finally:
            database.close()

    return make


def translate(client: httpx.Client, **body: object) -> dict[str, Any]:
    """Ask for it in JSON."""
    response = client.post("/translate", json={"q": "Hallo", "source": "de", "target": "en"} | body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def error_of(response: httpx.Response) -> tuple[int, str]:
    """Its status and message, after a look at its form."""
    assert response.headers["content-type"] == "application/json"
    assert response.headers["access-control-allow-origin"] == "*"
    body = response.json()
    assert list(body) == ["error"]
    assert isinstance(body["error"], str)
    return response.status_code, body["error"]
