"""Servers with DeepL's API, and DeepL's own client."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import deepl
import httpx
import pytest

from dragoman import Translator
from dragoman.bundle import open_bundle
from dragoman.routing.bundle_scan import bundle_folders
from dragoman.routing.router import Router
from service.accounts.database import Database
from service.accounts.key_store import KeyStore
from service.accounts.keys import DEFAULT_SCOPES, NO_LIMITS, KeyLimits, KeyOptions, Scope
from service.accounts.usage import Usage, UsageStore
from tests.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import SIZE_BYTES, TINY_BUNDLE, forget_settings, ready_client, router_of
from tests.service.doubles import DoubleTranslator

Serve = Callable[..., httpx.Client]


@pytest.fixture(autouse=True, scope="module")
def no_settings_around() -> Iterator[None]:
    """Settings of whoever runs the tests change none of them."""
    with pytest.MonkeyPatch.context() as patch:
        forget_settings(patch)
        yield


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own setting, as its documentation has it: what fails is told at once."""
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)


class Keys:
    """Keys of a server's database, and their use."""

    def __init__(self, url: str) -> None:
        self.url = url

    def make(self, limits: KeyLimits = NO_LIMITS, scopes: frozenset[Scope] = DEFAULT_SCOPES) -> str:
        database = Database.open(self.url)
        try:
            return KeyStore(database).create(KeyOptions("test", scopes, limits), datetime.now(UTC)).presented
        finally:
            database.close()

    def usage(self, key: str) -> Usage:
        """All that was ever counted; no test lasts a month."""
        database = Database.open(self.url)
        try:
            months = UsageStore(database).of_key(key.split("_")[1])
        finally:
            database.close()
        return months[0] if months else Usage("")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(f"sqlite:///{tmp_path_factory.mktemp('accounts') / 'accounts.db'}")


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_bundle(tmp_path_factory.mktemp("models") / "tiny", "tiny-de-en")


@pytest.fixture(scope="module")
def double(bundle: Path) -> Iterator[DoubleTranslator]:
    """Translates German into English, which it takes for upper case."""
    translator = DoubleTranslator(open_bundle(bundle).manifest)
    yield translator
    translator.released.set()


@pytest.fixture(scope="module")
def http(double: DoubleTranslator, bundle: Path, keys: Keys) -> Iterator[httpx.Client]:
    """Of a server that requires keys and detects nothing, which a module's tests share."""
    with (
        router_of(double, bundle) as router,
        ready_client(router, database_url=keys.url, requires_key=True) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def key(keys: Keys) -> str:
    return keys.make()


@pytest.fixture
def auth(key: str) -> dict[str, str]:
    return {"Authorization": f"DeepL-Auth-Key {key}"}


ClientOf = Callable[[str], deepl.DeepLClient]


@pytest.fixture
def client_of(http: httpx.Client) -> Iterator[ClientOf]:
    """DeepL's own client, for a key."""
    with ExitStack() as clients:

        def make(key: str) -> deepl.DeepLClient:
            client = deepl.DeepLClient(key, server_url=str(http.base_url))
            clients.callback(client.close)
            return client

        yield make


@pytest.fixture
def client(client_of: ClientOf, key: str) -> deepl.DeepLClient:
    return client_of(key)


@pytest.fixture(scope="module")
def bundles() -> Iterator[DoubleBundles]:
    """Doubles that put their names behind what they translate."""
    doubles = DoubleBundles()
    yield doubles
    for opened in doubles.opened:
        opened.released.set()


@pytest.fixture(scope="module")
def many(bundles: DoubleBundles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Of a server without keys that detects languages: de, pt -> en; en -> fr, pt-BR, zh-Hant."""
    folder = tmp_path_factory.mktemp("several")
    write_bundle(folder / "a", "german")
    write_bundle(folder / "b", "french", ["en"], ["fr"])
    write_bundle(folder / "c", "wide", ["en"], ["pt-BR", "zh-Hant"])
    write_bundle(folder / "d", "portuguese", ["pt"], ["en"])
    with (
        Router(lambda: bundle_folders(folder), bundles.open, lambda _: SIZE_BYTES) as router,
        ready_client(router, detection="on", preload="a") as shared,
    ):
        yield shared


@pytest.fixture(scope="module")
def engine_http() -> Iterator[httpx.Client]:
    """Of a server with the real engine and a tiny model, de -> en."""
    with (
        Translator.open(TINY_BUNDLE) as translator,
        router_of(translator, TINY_BUNDLE) as router,
        ready_client(router) as shared,
    ):
        yield shared


def translate(client: httpx.Client, headers: dict[str, str] | None = None, **body: object) -> dict[str, Any]:
    """The only translation of what is asked for in JSON."""
    wanted = {"text": ["Hallo"], "target_lang": "EN"} | body
    response = client.post("/v2/translate", json=wanted, headers=headers or {})
    assert response.status_code == 200, response.text
    [translation] = response.json()["translations"]
    found: dict[str, Any] = translation
    return found


def error_of(response: httpx.Response) -> tuple[int, str]:
    """Its status and message, after a look at its form."""
    assert response.headers["content-type"] == "application/json"
    assert len(response.headers["x-trace-id"]) == 32
    body = response.json()
    assert set(body) <= {"message", "detail"}
    return response.status_code, body["message"]
