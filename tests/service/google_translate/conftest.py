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

from tests.service.conftest import keys
from tests.service.detecting_server import Serve, bundles, http, serve, write_models

__all__ = ["Serve", "bundles", "http", "keys", "serve"]

PATH = "/language/translate/v2"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models from English into pt-BR, zh-Hant and he, among others."""
    return write_models(tmp_path_factory.mktemp("models"), "pt-BR", "zh-Hant", "he")


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
