"""A client that gave up waiting and asks again is given the same work, and is charged for it once."""

import threading
from collections.abc import Iterator

import deepl
import httpx
import pytest

from service.api.deepl import translation
from tests.deepl.conftest import auth_of
from tests.routing.doubles import until
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

GIVES_UP_AFTER_S = 0.2
TEXT = "wait for me"


@pytest.fixture
def released(double: DoubleTranslator) -> Iterator[threading.Event]:
    """Ends every `wait` of the test."""
    double.released, double.is_waiting = threading.Event(), threading.Event()
    double.seen.clear()
    double.cancelled.clear()
    yield double.released
    double.released.set()


def ask(http: httpx.Client, key: str, timeout_s: float) -> httpx.Response:
    headers = auth_of(key)
    wanted = {"text": [TEXT], "target_lang": "EN-GB", "show_billed_characters": True}
    # A client of its own, so that it closes its connection when it gives up.
    return httpx.post(f"{http.base_url}/v2/translate", json=wanted, headers=headers, timeout=timeout_s)


def seen(double: DoubleTranslator) -> list[str]:
    return [text for text, _ in double.seen]


def test_any_client_may_leave_and_come_again(
    http: httpx.Client, keys: Keys, double: DoubleTranslator, released: threading.Event
) -> None:
    key = keys.make()
    for _ in range(3):
        with pytest.raises(httpx.ReadTimeout):
            ask(http, key, GIVES_UP_AFTER_S)
    released.set()
    answer = ask(http, key, 60)
    assert answer.json()["translations"][0]["text"] == TEXT.upper()
    assert seen(double) == [TEXT]
    assert double.cancelled == []
    usage = keys.usage(key)
    assert (usage.characters, usage.requests) == (len(TEXT), 1)


def test_another_key_asks_for_itself(http: httpx.Client, keys: Keys, released: threading.Event) -> None:
    one, another = keys.make(), keys.make()
    with pytest.raises(httpx.ReadTimeout):
        ask(http, one, GIVES_UP_AFTER_S)
    released.set()
    assert ask(http, another, 60).status_code == 200
    assert keys.usage(another).characters == len(TEXT)


def test_who_never_comes_again_is_not_charged(
    http: httpx.Client,
    keys: Keys,
    double: DoubleTranslator,
    released: threading.Event,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(translation, "LINGER_S", 0.1)
    key = keys.make()
    with pytest.raises(httpx.ReadTimeout):
        ask(http, key, GIVES_UP_AFTER_S)
    until(lambda: double.cancelled == [TEXT])
    until(lambda: keys.usage(key).characters == 0)
    assert not released.is_set()


RETRIES = 5
"""By default; other tests set it to none."""


def test_the_work_outlives_the_longest_pause_of_deepls_client() -> None:
    backoff = deepl.http_client._BackoffTimer
    longest_s = backoff.BACKOFF_INITIAL * backoff.BACKOFF_MULTIPLIER**RETRIES
    assert longest_s * (1 + backoff.BACKOFF_JITTER) < translation.LINGER_S
