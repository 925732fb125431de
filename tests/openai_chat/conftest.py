"""Servers with chat completions, and OpenAI's own client."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from tests.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import ready_client, router_over
from tests.service.keys import Keys

Serve = Callable[..., httpx.Client]
PATH = "/openai/v1/chat/completions"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`a`: de -> en, `b`: en -> fr, `c`: en -> pt-BR, zh-Hant, it and de."""
    folder = tmp_path_factory.mktemp("models")
    write_bundle(folder / "a", "german")
    write_bundle(folder / "b", "french", ["en"], ["fr"])
    write_bundle(folder / "c", "wide", ["en"], ["pt-BR", "zh-Hant", "it", "de"])
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


def openai_client(http: httpx.Client, key: str = "any", root: str = "/openai/v1") -> OpenAI:
    """OpenAI's own client of a server; what fails is told at once."""
    return OpenAI(base_url=str(http.base_url).rstrip("/") + root, api_key=key, max_retries=0)


@pytest.fixture
def client(http: httpx.Client) -> Iterator[OpenAI]:
    with openai_client(http) as opened:
        yield opened


def body(
    text: str = "Hallo", model: str = "dragoman-de-en", system: str = "", **more: object
) -> dict[str, Any]:
    """A request with a text and perhaps a message of the system."""
    before = [{"role": "system", "content": system}] if system else []
    return {"model": model, "messages": [*before, {"role": "user", "content": text}], **more}


def error_of(response: httpx.Response) -> tuple[int, str | None, str | None, str]:
    """Status, code, parameter and message, after a look at the form."""
    found = response.json()
    assert list(found) == ["error"]
    assert set(found["error"]) == {"message", "type", "param", "code"}
    error = found["error"]
    return response.status_code, error["code"], error["param"], error["message"]
