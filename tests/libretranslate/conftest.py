"""Servers with LibreTranslate's API."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import QUICK_FILES, engine_server, keys, ready_client, router_over
from tests.service.detecting_server import Serve, serve

__all__ = ["Serve", "keys", "serve"]


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
def bundles() -> DoubleBundles:
    """Doubles that put their names behind what they translate."""
    return DoubleBundles()


@pytest.fixture(scope="module")
def client(models: Path, bundles: DoubleBundles) -> Iterator[httpx.Client]:
    """A client of a server that detects languages, which a module's tests share."""
    with (
        router_over(models, bundles) as router,
        ready_client(router, detection="on", **QUICK_FILES) as shared,
    ):
        yield shared


@pytest.fixture(scope="module")
def engine_client() -> Iterator[httpx.Client]:
    with engine_server(detection="on") as shared:
        yield shared


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
