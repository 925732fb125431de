"""Who finds whose known segments in the engine's memory, by the setting `segment_cache`."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from dragoman.scheduling.metrics import NoMetrics
from service.accounts.key_store import AdminStores
from service.accounts.keys import DEFAULT_SCOPES, NO_LIMITS, KeyOptions
from service.engine import open_router
from service.settings import load_settings
from tests.routing.doubles import until
from tests.service.conftest import TINY_BUNDLE, Serve
from tests.service.doubles import DoubleTranslator

Headers = dict[str, str]


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'accounts.db'}"


@pytest.fixture
def callers(database_url: str) -> list[Headers]:
    """Two with keys, and one without."""
    with AdminStores.open(database_url) as stores:
        keys = [
            stores.keys.create(KeyOptions(name, DEFAULT_SCOPES, NO_LIMITS), datetime.now(UTC))
            for name in "ab"
        ]
    return [*({"Authorization": f"Bearer {key.presented}"} for key in keys), {}]


def translate(client: httpx.Client, headers: Headers, text: str = "Hallo") -> None:
    client.post("/v1/translate", json={"text": text}, headers=headers).raise_for_status()


def stream(client: httpx.Client, headers: Headers) -> None:
    client.post("/v1/translate/stream", json={"text": "Hallo"}, headers=headers).raise_for_status()


def translate_long(client: httpx.Client, headers: Headers) -> None:
    """Too long to be taken apart on the event loop."""
    translate(client, headers, "Hallo " * 500)


def score(client: httpx.Client, headers: Headers) -> None:
    body = {"pairs": [{"source": "Hallo", "target": "HALLO"}]}
    client.post("/v1/score", json=body, headers=headers).raise_for_status()


def send_job(client: httpx.Client, headers: Headers) -> None:
    sent = client.post("/v1/jobs", files={"file": ("a.txt", b"Hallo")}, headers=headers).raise_for_status()
    path = f"/v1/jobs/{sent.json()['id']}"
    until(lambda: client.get(path, headers=headers).json()["state"] == "done")


class CountingMeter(NoMetrics):
    """Counts segments that were known."""

    num_known = 0

    def cache_hit(self) -> None:
        self.num_known += 1


WORK = [translate, translate_long, stream, score, send_job]


@pytest.mark.parametrize("work", WORK)
def test_each_key_has_a_partition_of_its_own_and_all_without_a_key_have_one(
    serve: Serve, translator: DoubleTranslator, database_url: str, callers: list[Headers], work: object
) -> None:
    assert callable(work)
    client = serve(database_url=database_url)
    translator.requests.clear()
    for headers in (*callers, *callers):
        work(client, headers)
    partitions = [request.cache_partition for request in translator.requests]
    assert partitions[:3] == partitions[3:]
    assert len(set(partitions[:3])) == 3


@pytest.mark.parametrize("work", WORK)
def test_a_shared_memory_has_one_partition(
    serve: Serve, translator: DoubleTranslator, database_url: str, callers: list[Headers], work: object
) -> None:
    assert callable(work)
    client = serve(database_url=database_url, segment_cache="shared")
    translator.requests.clear()
    for headers in callers:
        work(client, headers)
    partitions = [request.cache_partition for request in translator.requests]
    assert len(partitions) == 3
    assert len(set(partitions)) == 1


@pytest.mark.parametrize(("setting", "num_known"), [("off", 0), ("shared", 1), ("per_key", 1)])
def test_without_a_cache_nothing_is_remembered(setting: str, num_known: int) -> None:
    settings = load_settings(overrides={"model": str(TINY_BUNDLE), "segment_cache": setting, "replicas": 1})
    engine_metrics = CountingMeter()
    with open_router(settings, engine_metrics) as router:
        assert router.translate("Guten Morgen.") == router.translate("Guten Morgen.")
    assert engine_metrics.num_known == num_known


def test_equal_orders_of_several_keys_are_not_joined(
    serve: Serve,
    translator: DoubleTranslator,
    released: threading.Event,
    database_url: str,
    callers: list[Headers],
) -> None:
    client = serve(database_url=database_url, segment_cache="shared")
    with ThreadPoolExecutor(3) as threads:
        asking = [threads.submit(translate, client, headers, "wait") for headers in callers]
        until(lambda: len(translator.seen) == 3)
        released.set()
        for each in asking:
            each.result()
    assert [text for text, _ in translator.seen] == ["wait"] * 3
