"""What load balancers ask for, and how requests under way get on with each other."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, asynccontextmanager, closing
from dataclasses import asdict, replace
from pathlib import Path

import httpx
import pytest

from dragoman import Overloaded
from service.accounts.accounts import Accounts
from service.accounts.keys import ANONYMOUS
from service.api.languages import english_name
from service.settings.groups import LimitSettings
from service.translation import inference, translation_service
from service.translation.inference import MAX_PREPARING, Inference
from service.translation.request import TranslationRequest
from service.translation.source_language import DetectionMode
from service.translation.streaming import StreamDetail
from service.translation.translation_service import TranslationService
from service.work.shares import current_client
from tests.engine.routing.doubles import TIMEOUT_S, TOKENIZER, until
from tests.service.conftest import Serve, double_server, router_of, translate
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys, id_of

URL = "/v1/translate"


def test_models_shows_what_the_manifest_has(client: httpx.Client, double: DoubleTranslator) -> None:
    [shown] = client.get("/v1/models").json()["models"]

    manifest = double.manifest
    assert shown == {
        "name": "tiny-de-en",
        "folder": "tiny",
        "source": "de",
        "target": "en",
        "sources": ["de"],
        "targets": ["en"],
        "precision": "int8",
        "limits": {"max_source_tokens": 256, "max_target_tokens": 200},
        "sizes": asdict(manifest.sizes),
        "size_bytes": 1000 * len("encoder.onnxdecoder.onnx") + 2 * TOKENIZER.stat().st_size,
        "is_loaded": True,
        "memory_bytes": 1,
        "kernels": "doubled",
        "why_not_native": "it is a double",
        "readings": [],
        "licence": "CC-BY-4.0",
        "scores": {"captions": {"bleu": 31.5}},
    }


def test_a_server_whose_warm_up_fails_says_why_and_never_gets_ready(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(inference, "WARM_UP_TEXT", "explode")

    client = serve(await_ready=False)
    until(lambda: "the server is not ready" in caplog.text)

    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


def test_a_text_under_way_blocks_neither_health_nor_other_texts(
    serve: Serve, translator: DoubleTranslator
) -> None:
    client = serve()
    with ThreadPoolExecutor(1) as threads:
        patient = threads.submit(translate, client, text="wait")
        assert translator.is_waiting.wait(TIMEOUT_S)

        assert client.get("/healthz").status_code == 200
        assert translate(client, text="a")
        assert not patient.done()

        translator.released.set()
        assert patient.result(TIMEOUT_S)


def test_a_client_that_hangs_up_cancels_its_texts_and_no_others(
    serve: Serve, translator: DoubleTranslator, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve()
    body = json.dumps({"text": ["a", "wait 1", "wait 2"]})
    head = (
        f"POST {URL} HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    with ThreadPoolExecutor(1) as threads:
        patient = threads.submit(translate, client, text="wait, mine")
        until(lambda: len(translator.seen) == 1)
        with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as connection:
            connection.sendall(f"{head}\r\n\r\n{body}".encode())
            until(lambda: len(translator.seen) == 4)

        until(lambda: sorted(translator.cancelled) == ["wait 1", "wait 2"])
        translator.released.set()
        assert patient.result(TIMEOUT_S)
    assert translate(client, text="b")
    assert "failed" not in caplog.text


def test_one_text_that_fails_cancels_the_others_of_its_request(
    serve: Serve, translator: DoubleTranslator
) -> None:
    failed = serve().post(URL, json={"text": ["wait", "explode"]})

    assert failed.status_code == 500
    until(lambda: translator.cancelled == ["wait"])


def test_a_full_queue_error_has_its_numbers_and_a_retry_time(
    serve: Serve, translator: DoubleTranslator
) -> None:
    refused = serve().post(URL, json={"text": ["wait", "full", "a"]})

    assert refused.status_code == 429
    assert refused.json()["error"] == {
        "type": "overloaded",
        "message": "8 segments are queued, and 2 more exceed the limit of 9 (three quarters for large "
        "requests, half for one caller); try again later",
        "fields": [],
    }
    assert int(refused.headers["retry-after"]) > 0
    until(lambda: translator.cancelled == ["wait"])
    assert [text for text, _ in translator.seen] == ["wait", "full"]


def test_a_request_that_takes_too_long_is_cancelled(serve: Serve, translator: DoubleTranslator) -> None:
    late = serve(request_timeout_s=1.5).post(URL, json={"text": ["late", "wait"]})

    assert (late.status_code, late.json()["error"]["type"]) == (504, "timeout")
    assert "did not finish within 1.5 s" in late.json()["error"]["message"]
    assert [request.deadline.timeout_s for request in translator.requests] == [1.5, 1.5]
    until(lambda: translator.cancelled == ["wait"])


def test_eight_clients_at_once_get_their_own_translations(client: httpx.Client) -> None:
    def ask(number: int) -> None:
        texts = [f"client-{number % 8} {number}", f"client-{number % 8} again"]
        found = translate(client, text=texts)["translations"]
        assert [item["text"] for item in found] == [text.upper() for text in texts]

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(ask, range(160)))


LIMITS = LimitSettings(max_texts=1000, max_characters=100_000)


@pytest.fixture
def translations(translator: DoubleTranslator, models_dir: Path) -> Iterator[TranslationService]:
    with (
        router_of(translator, models_dir / "tiny") as router,
        closing(Accounts.open(None, requires_key=False)) as accounts,
    ):
        yield TranslationService(Inference(router, TIMEOUT_S, ()), accounts, LIMITS, DetectionMode.OFF)


@pytest.mark.anyio
@pytest.mark.parametrize("num_events", range(1, 9))
async def test_a_segment_is_charged_as_a_whole_with_its_first_token(
    translator: DoubleTranslator, models_dir: Path, keys: Keys, num_events: int
) -> None:
    texts, key_id = ("ein haus\nder alte hund", "ja"), id_of(keys.make())
    caller, request = replace(ANONYMOUS, key_id=key_id), TranslationRequest(texts, target="en", source="de")
    begun = set[str]()
    with (
        router_of(translator, models_dir / "tiny") as router,
        closing(Accounts.open(keys.url, requires_key=True)) as accounts,
    ):
        service = TranslationService(Inference(router, TIMEOUT_S, ()), accounts, LIMITS, DetectionMode.OFF)
        async with aclosing(service.stream(request, caller, StreamDetail.TOKENS)) as events:
            for _ in range(num_events):
                event = await anext(events)
                assert not isinstance(event, list)
                begun.add(texts[event.item].split("\n")[event.number])

        assert keys.usage(f"dragoman_{key_id}_x").characters == sum(map(len, begun))


async def _translate(translations: TranslationService, *texts: str) -> list[str]:
    order = TranslationRequest(texts, target="en", source="de")
    return [answer.text for answer in await translations.translate(order, ANONYMOUS)]


@asynccontextmanager
async def all_threads_busy(translations: TranslationService) -> AsyncIterator[None]:
    are_released = threading.Event()
    busy = [
        asyncio.ensure_future(translations.inference.run_in_thread(are_released.wait))
        for _ in range(MAX_PREPARING)
    ]
    await asyncio.sleep(0)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            yield
    finally:
        are_released.set()
        await asyncio.gather(*busy)


@pytest.mark.anyio
async def test_a_short_request_passes_those_that_take_long_to_plan(translations: TranslationService) -> None:
    async with all_threads_busy(translations):
        assert await _translate(translations, "eins", "zwei") == ["EINS", "ZWEI"]
        with pytest.raises(Overloaded):  # at once, too
            await _translate(translations, "full")


def test_the_texts_of_a_client_are_prepared_one_request_at_a_time(translations: TranslationService) -> None:
    are_released = threading.Event()
    started: list[str] = []

    async def prepare(client: str) -> None:
        def work() -> None:
            started.append(client)
            are_released.wait(TIMEOUT_S)

        current_client.set(client)
        await translations.inference.run_in_thread(work)

    async def run() -> None:
        preparing = [asyncio.ensure_future(prepare(client)) for client in ("hostile", "hostile", "honest")]
        while "honest" not in started:  # noqa: ASYNC110 -- a thread sets it
            await asyncio.sleep(0)
        assert started.count("hostile") == 1
        are_released.set()
        await asyncio.gather(*preparing)

    asyncio.run(asyncio.wait_for(run(), TIMEOUT_S))
    assert sorted(started) == ["honest", "hostile", "hostile"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "texts",
    [("a" * (translation_service.BRIEF_CHARACTERS + 1),), ("a",) * (translation_service.BRIEF_TEXTS + 1)],
)
async def test_a_long_request_is_planned_off_the_event_loop(
    translations: TranslationService, texts: tuple[str, ...]
) -> None:
    async with all_threads_busy(translations):
        waiting = asyncio.ensure_future(_translate(translations, *texts))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        waiting.cancel()


def test_the_names_of_languages_are_loaded_before_the_server_is_ready(tmp_path: Path) -> None:
    english_name.cache_clear()
    with double_server(tmp_path):
        assert english_name.cache_info().currsize == 1
