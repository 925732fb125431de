"""What a route does for a request ends when its client disconnects, or when its time is over."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from dragoman.bundle import open_bundle
from service.http import request_scope
from service.http.limits import BodyLimits
from service.server.app import create_app
from service.settings.settings import load_settings
from service.work import threads
from service.work.shares import current_client
from tests.engine.routing.doubles import write_bundle
from tests.service.conftest import router_of
from tests.service.doubles import DoubleTranslator
from tests.service.openapi.documented import DOCUMENT, examples_of

JSON, LINES = "application/json", "application/x-ndjson"
HOST = "http://test"
FILE: dict[str, Any] = {"files": {"file": ("a.txt", b"ein haus")}, "data": {"source": "de", "target": "en"}}
TIMEOUT_S = 0.05
MAX_STEPS = 40
NUM_WORKING = 20
"""Minimum number of routes that do something on a thread."""


def requests(paths: dict[str, Any], known: dict[str, str]) -> Iterator[httpx.Request]:
    """A request to each operation of the document, with a body that the document shows."""
    for template, methods in paths.items():
        path = template.format_map(known)
        for method, operation in methods.items():
            content = operation.get("requestBody", {}).get("content", {})
            sent: dict[str, Any] = {}
            if JSON in content:
                sent = {"json": examples_of(content[JSON])[0]}
            elif LINES in content:
                lines, query = b'{"text": "ein haus"}', {"source": "de", "target": "en", "name": "a.jsonl"}
                sent = {"content": lines, "headers": {"Content-Type": LINES}, "params": query}
            elif content:
                sent = FILE
            yield httpx.Request(method.upper(), HOST + path, **sent)


class Steps:
    """Counts the steps that requests take on threads, and stops at one of them."""

    def __init__(self, stop_at: int) -> None:
        self.stop_at = stop_at
        self.number = 0
        self.is_reached, self.is_released = asyncio.Event(), asyncio.Event()

    async def take(self) -> None:
        if not current_client.get():  # work of the server itself
            return
        self.number += 1
        if self.number == self.stop_at:
            self.is_reached.set()
            await self.is_released.wait()


@contextmanager
def counting(steps: Steps) -> Iterator[None]:
    def counted(run: Callable[..., Any]) -> Callable[..., Any]:
        async def counted_run(*arguments: Any, **options: Any) -> Any:
            await steps.take()
            return await run(*arguments, **options)

        return counted_run

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anyio.to_thread, "run_sync", counted(anyio.to_thread.run_sync))
        patch.setattr(threads, "run_on_daemon_thread", counted(threads.run_on_daemon_thread))
        yield


class Exchange:
    """A request to an application, whose client may leave."""

    def __init__(self, app: FastAPI, request: httpx.Request) -> None:
        self.sent: list[Message] = []
        self.is_gone = asyncio.Event()
        self._request = request
        self._bodies = [request.read()]
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        url = request.url
        scope = {
            "type": "http", "http_version": "1.1", "method": request.method, "path": url.path,
            "raw_path": url.raw_path, "query_string": url.query, "headers": headers, "scheme": "http",
            "client": ("127.0.0.1", 1), "server": ("test", 80), "root_path": "",
        }  # fmt: skip
        self.running = asyncio.ensure_future(app(scope, self._receive, self._send))

    async def _receive(self) -> Message:
        if self._bodies:
            return {"type": "http.request", "body": self._bodies.pop(), "more_body": False}
        await self.is_gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def statuses(self) -> list[int]:
        return [message["status"] for message in self.sent if message["type"] == "http.response.start"]


@asynccontextmanager
async def serving(folder: Path, **settings: object) -> AsyncIterator[tuple[FastAPI, list[httpx.Request]]]:
    """An application with everything on, and a request to each of its routes, for things that exist."""
    bundle = write_bundle(folder / "models" / "tiny", "tiny-de-en")
    everything = {
        "apis": "native,libretranslate,deepl,google,openai", "reload_endpoint": True, "suggestions": "on",
        "database_url": f"sqlite:///{folder / 'dragoman.db'}", "models_dir": folder / "models",
    }  # fmt: skip
    with router_of(DoubleTranslator(open_bundle(bundle).manifest), bundle) as router:
        app = create_app(router, load_settings(overrides={**everything, **settings}), ())
        async with app.router.lifespan_context(app):
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url=HOST) as client:
                known = await create_known(client)
            sent = requests(DOCUMENT["paths"], known)
            yield app, sorted(sent, key=lambda request: request.method == "DELETE")


async def create_known(client: httpx.AsyncClient) -> dict[str, str]:
    """Create what paths name; anything else has an id that nothing has."""
    known = dict.fromkeys(("job_id", "document_id", "name", "model", "source_lang", "target_lang"), "a" * 32)
    for name, path in (("memory_id", "/v1/memories"), ("glossary_id", "/v1/glossaries")):
        example = examples_of(DOCUMENT["paths"][path]["post"]["requestBody"]["content"][JSON])[0]
        created = await client.post(path, json=example)
        known[name] = created.json()["id"]
    pairs = await client.get(f"/v1/memories/{known['memory_id']}/pairs")
    known["pair_id"] = pairs.json()["pairs"][0]["id"]
    job = await client.post("/v1/jobs", **FILE)
    return known | {"job_id": job.json()["id"], "translation_memory_id": known["memory_id"]}


async def leave_at(app: FastAPI, request: httpx.Request, stop_at: int) -> Exchange | None:
    """Disconnect while a request takes a step; return None if it does not get there."""
    steps = Steps(stop_at)
    with counting(steps):
        exchange = Exchange(app, request)
        reached = asyncio.ensure_future(steps.is_reached.wait())
        await asyncio.wait({reached, exchange.running}, return_when=asyncio.FIRST_COMPLETED)
        reached.cancel()
        if exchange.running.done():
            await exchange.running
            return None
        exchange.is_gone.set()
        has_begun = bool(exchange.statuses)
        await asyncio.sleep(0.01)
        steps.is_released.set()
        await exchange.running
    return None if has_begun else exchange


async def try_every_step(folder: Path) -> tuple[set[str], list[str]]:
    """Return the routes that do something, and the steps after which one went on for nobody."""
    working, gone_on = set(), []
    async with serving(folder) as (app, sent):
        for request in sent:
            for stop_at in range(1, MAX_STEPS):
                exchange = await leave_at(app, request, stop_at)
                if exchange is None:
                    break
                what = f"{request.method} {request.url.path}"
                working.add(what)
                if exchange.statuses:
                    gone_on.append(f"{what} after step {stop_at}")
    return working, gone_on


def test_no_route_goes_on_after_its_client_has_left(tmp_path: Path) -> None:
    working, gone_on = asyncio.run(try_every_step(tmp_path))

    assert len(working) >= NUM_WORKING
    assert gone_on == []


async def overdue_answers(folder: Path) -> dict[str, bytes]:
    """Return the answers to requests whose first step takes longer than a request may."""
    answers = {}
    async with serving(folder, request_timeout_s=TIMEOUT_S) as (app, sent):
        [limits] = [each.kwargs["limits"] for each in app.user_middleware if "limits" in each.kwargs]
        assert isinstance(limits, BodyLimits)
        for request in sent:
            steps = Steps(1)
            with counting(steps):
                exchange = Exchange(app, request)
                await asyncio.wait({exchange.running}, timeout=2 * TIMEOUT_S)
                steps.is_released.set()
                await asyncio.wait({exchange.running}, timeout=2 * TIMEOUT_S)
                exchange.is_gone.set()
                await exchange.running
            if steps.number and not limits.has_files(request.url.path):
                bodies = [message["body"] for message in exchange.sent if "body" in message]
                answers[f"{request.method} {request.url.path}"] = b"".join(bodies)
    return answers


def test_every_route_answers_when_its_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_scope, "GRACE_S", 0)

    answers = asyncio.run(overdue_answers(tmp_path))

    assert len(answers) >= NUM_WORKING
    other = {what: body for what, body in answers.items() if b"did not finish within 0.05 s" not in body}
    assert other == {}
