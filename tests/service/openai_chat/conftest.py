"""Servers with chat completions, and OpenAI's own client."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from tests.service.conftest import keys
from tests.service.detecting_server import Serve, bundles, http, serve, write_models

__all__ = ["Serve", "bundles", "http", "keys", "serve"]

PATH = "/openai/v1/chat/completions"


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models from English into pt-BR, zh-Hant, it and de, among others."""
    return write_models(tmp_path_factory.mktemp("models"), "pt-BR", "zh-Hant", "it", "de")


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
