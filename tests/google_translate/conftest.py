"""Servers with Google's API, and Google's own client."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.auth.api_key import Credentials as KeyCredentials
from google.auth.credentials import AnonymousCredentials, Credentials
from google.cloud.translate_v2 import Client

from tests.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import ready_client, router_over
from tests.service.keys import Keys

Serve = Callable[..., httpx.Client]
PATH = "/language/translate/v2"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`a`: de -> en, `b`: en -> fr, `c`: en -> pt-BR, zh-Hant and he."""
    folder = tmp_path_factory.mktemp("models")
    write_bundle(folder / "a", "german")
    write_bundle(folder / "b", "french", ["en"], ["fr"])
    write_bundle(folder / "c", "wide", ["en"], ["pt-BR", "zh-Hant", "he"])
    return folder


@pytest.fixture(scope="module")
def http(models: Path) -> Iterator[httpx.Client]:
    """A client of a server that detects languages and requires no key, which a module's tests share."""
    with router_over(models, DoubleBundles()) as router, ready_client(router, detection="on") as shared:
        yield shared


@pytest.fixture
def serve(models: Path) -> Iterator[Serve]:
    """Start another server over the same models with these settings."""
    with ExitStack() as running:

        def start(**settings: object) -> httpx.Client:
            router = running.enter_context(router_over(models, DoubleBundles()))
            return running.enter_context(ready_client(router, **settings))

        yield start


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(f"sqlite:///{tmp_path / 'accounts.db'}")


ClientOf = Callable[..., Client]


@pytest.fixture
def client_of() -> Iterator[ClientOf]:
    """Google's own client of a server, with credentials or a key."""
    with ExitStack() as clients:

        def make(
            http: httpx.Client, key: str | None = None, credentials: Credentials | None = None
        ) -> Client:
            known = AnonymousCredentials() if key is None else KeyCredentials(key)  # type: ignore[no-untyped-call]
            options = {"api_endpoint": str(http.base_url).rstrip("/")}
            client = Client(credentials=credentials or known, client_options=options)
            clients.callback(client.close)
            return client

        yield make


@pytest.fixture
def client(http: httpx.Client, client_of: ClientOf) -> Client:
    return client_of(http)


def error_of(response: httpx.Response) -> tuple[int, str, str, str]:
    """Status, canonical code, reason and message, after a look at the form."""
    body: dict[str, Any] = response.json()
    assert list(body) == ["error"]
    error = body["error"]
    assert error["code"] == response.status_code
    assert error["errors"]
    assert all(set(each) == {"message", "domain", "reason"} for each in error["errors"])
    return response.status_code, error["status"], error["errors"][0]["reason"], error["message"]
