"""Servers with DeepL's API, and DeepL's own client."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from threading import Event
from typing import Any

import deepl
import httpx
import pytest

from tests.engine.routing.doubles import write_bundle
from tests.service.conftest import Served, double_server, models_client
from tests.service.detecting_server import write_models
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys


@pytest.fixture(autouse=True)
def no_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own setting, as its documentation has it: what fails is told at once."""
    monkeypatch.setattr(deepl.http_client, "max_network_retries", 0)


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(f"sqlite:///{tmp_path_factory.mktemp('accounts') / 'accounts.db'}")


@pytest.fixture(scope="module")
def shared_server(keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that requires keys and detects nothing, which a module's tests share."""
    with double_server(tmp_path_factory.mktemp("shared"), database_url=keys.url, requires_key=True) as shared:
        yield shared


@pytest.fixture(scope="module")
def double(shared_server: Served) -> DoubleTranslator:
    """Translates German into English, which it takes for upper case."""
    return shared_server[1]


@pytest.fixture
def released(double: DoubleTranslator) -> Iterator[Event]:
    """Ends every `wait` of the test."""
    double.released, double.is_waiting = Event(), Event()
    double.seen.clear()
    double.cancelled.clear()
    yield double.released
    double.released.set()


@pytest.fixture(scope="module")
def http(shared_server: Served) -> httpx.Client:
    return shared_server[0]


@pytest.fixture(scope="module")
def key(keys: Keys) -> str:
    return keys.make()


def auth_of(key: str) -> dict[str, str]:
    return {"Authorization": f"DeepL-Auth-Key {key}"}


@pytest.fixture
def auth(key: str) -> dict[str, str]:
    return auth_of(key)


def upload(client: deepl.DeepLClient, text: str = "Hallo", **options: Any) -> deepl.DocumentHandle:
    """Send a text as a document into English."""
    return client.translate_document_upload(text, **{"target_lang": "EN-GB", "filename": "a.txt", **options})


def fetch(client: deepl.DeepLClient, handle: deepl.DocumentHandle) -> bytes:
    output = BytesIO()
    client.translate_document_download(handle, output)
    return output.getvalue()


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
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """Of a server without keys that detects languages: de, pt -> en; en -> fr, pt-BR, zh-Hant."""
    folder = write_models(tmp_path_factory.mktemp("several"), "pt-BR", "zh-Hant")
    write_bundle(folder / "d", "portuguese", ["pt"], ["en"])
    with models_client(folder, detection="on", preload="a") as shared:
        yield shared


def translations_of(
    client: httpx.Client, headers: dict[str, str] | None = None, **body: object
) -> list[dict[str, Any]]:
    """The translations of what is asked for in JSON."""
    wanted = {"text": ["Hallo"], "target_lang": "EN"} | body
    response = client.post("/v2/translate", json=wanted, headers=headers or {})
    assert response.status_code == 200, response.text
    return list(response.json()["translations"])


def translate(client: httpx.Client, headers: dict[str, str] | None = None, **body: object) -> dict[str, Any]:
    """The only one."""
    [translation] = translations_of(client, headers, **body)
    return translation


def error_of(response: httpx.Response) -> tuple[int, str]:
    """Its status and message, after a look at its form."""
    assert response.headers["content-type"] == "application/json"
    assert len(response.headers["x-trace-id"]) == 32
    body = response.json()
    assert set(body) <= {"message", "detail"}
    return response.status_code, body["message"]
