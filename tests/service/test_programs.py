"""What programs send, as tests/docs/clients.toml lists it, and read in the response."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.docs.clients_page import Call, clients
from tests.service.conftest import models_client
from tests.service.detecting_server import bundles, http, write_models
from tests.service.keys import Keys

__all__ = ["bundles", "http"]

CALLS = [
    pytest.param(call, id=f"{client.name}: {call.request}") for client in clients() for call in client.calls
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_models(tmp_path_factory.mktemp("models"), "pt-BR", "zh-Hant")


@pytest.fixture(scope="module")
def known_keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(f"sqlite:///{tmp_path_factory.mktemp('accounts') / 'accounts.db'}")


@pytest.fixture(scope="module")
def locked(models: Path, known_keys: Keys) -> Iterator[httpx.Client]:
    """Of a server that requires keys."""
    with models_client(models, detection="on", database_url=known_keys.url, requires_key=True) as client:
        yield client


def content_of(response: httpx.Response) -> Any:
    """The JSON of a response; of a stream of completions its whole text and how it ends."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        return response.json() if response.content else {}
    events = [
        line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: {")
    ]
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    text = "".join(choice["delta"].get("content", "") for choice in choices)
    return {"content": text, "finish_reason": choices[-1]["finish_reason"]}


def field_of(content: Any, path: str) -> Any:
    for name in path.split("."):
        content = content[int(name) if isinstance(content, list) else name]
    return content


@pytest.mark.parametrize("call", CALLS)
def test_programs_read_what_they_expect(
    http: httpx.Client, locked: httpx.Client, known_keys: Keys, call: Call
) -> None:
    """Those that send a key are served where one is required, too; models may name the languages as well."""
    written = call.model_dump_json()
    sent = Call.model_validate_json(written.replace("KEY", known_keys.make()))
    body = sent.body.replace("\n", "\r\n") if sent.type.startswith("multipart") else sent.body
    for client, model in product((http, locked) if "KEY" in written else (http,), ("", "-de-en")):
        content = body.replace('"dragoman"', f'"dragoman{model}"').encode()
        headers = {"Content-Type": sent.type, **sent.headers}
        response = client.request(*sent.request.split(), content=content, headers=headers)
        assert response.status_code == 200, response.text
        found = content_of(response)
        assert {path: field_of(found, path) for path in sent.reads} == sent.reads
