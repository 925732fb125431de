"""Servers with LibreTranslate's API."""

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.engine.routing.doubles import write_bundle
from tests.service.conftest import keys
from tests.service.detecting_server import Serve, bundles, serve, write_models
from tests.service.detecting_server import http as client

__all__ = ["Serve", "bundles", "client", "keys", "serve"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models from English into pt-BR and zh-Hant, and from Chinese, among others."""
    folder = write_models(tmp_path_factory.mktemp("models"), "pt-BR", "zh-Hant")
    write_bundle(folder / "d", "chinese", ["zh"], ["en"])
    return folder


def translate(client: httpx.Client, **body: object) -> dict[str, Any]:
    """Ask for it in JSON."""
    response = client.post("/translate", json={"q": "Hallo", "source": "de", "target": "en"} | body)
    assert response.status_code == 200, response.text
    return dict(response.json())


def error_of(response: httpx.Response) -> tuple[int, str]:
    """Its status and message, after a look at its form."""
    assert response.headers["content-type"] == "application/json"
    assert response.headers["access-control-allow-origin"] == "*"
    body = response.json()
    assert list(body) == ["error"]
    assert isinstance(body["error"], str)
    return response.status_code, body["error"]
