"""Who finds whose known segments in the engine's memory, by the setting `segment_cache`."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.routing.doubles import until
from tests.service.conftest import QUICK_FILES, Serve
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

Headers = dict[str, str]
Work = Callable[[httpx.Client, Headers], object]


@pytest.fixture
def callers(keys: Keys) -> list[Headers]:
    """Two with keys, and one without."""
    return [keys.bearer(), keys.bearer(), {}]


def post(path: str, body: dict[str, object]) -> Work:
    return lambda client, headers: client.post(path, json=body, headers=headers).raise_for_status()


def send_job(client: httpx.Client, headers: Headers) -> None:
    sent = client.post("/v1/jobs", files={"file": ("a.txt", b"Hallo")}, headers=headers).raise_for_status()
    path = f"/v1/jobs/{sent.json()['id']}"
    until(lambda: client.get(path, headers=headers).json()["state"] == "done")


@pytest.mark.parametrize(("setting", "num_partitions"), [("per_key", 3), ("shared", 1)])
@pytest.mark.parametrize(
    "work",
    [
        post("/v1/translate", {"text": "Hallo"}),
        post("/v1/translate", {"text": "Hallo " * 500}),  # too long to be taken apart on the event loop
        post("/v1/translate/stream", {"text": "Hallo"}),
        post("/v1/score", {"pairs": [{"source": "Hallo", "target": "HALLO"}]}),
        send_job,
    ],
    ids=["translate", "translate_long", "stream", "score", "send_job"],
)
def test_each_key_has_a_partition_of_its_own_and_all_without_a_key_have_one(
    serve: Serve, translator: DoubleTranslator, keys: Keys, callers: list[Headers], work: Work,
    setting: str, num_partitions: int,
) -> None:  # fmt: skip
    client = serve(database_url=keys.url, segment_cache=setting, **QUICK_FILES)
    for headers in (*callers, *callers):
        work(client, headers)

    partitions = [request.cache_partition for request in translator.requests]
    assert partitions[:3] == partitions[3:]
    assert len(set(partitions[:3])) == num_partitions


def test_equal_orders_of_several_keys_are_not_joined(
    serve: Serve, translator: DoubleTranslator, keys: Keys, callers: list[Headers]
) -> None:
    client = serve(database_url=keys.url, segment_cache="shared")
    work = post("/v1/translate", {"text": "wait"})
    with ThreadPoolExecutor(3) as threads:
        asking = [threads.submit(work, client, headers) for headers in callers]
        until(lambda: len(translator.seen) == 3)
        translator.released.set()
        for each in asking:
            each.result()
    assert [text for text, _ in translator.seen] == ["wait"] * 3
