"""What takes no time to take apart does not wait for the threads that take apart what does."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from dragoman import Overloaded
from service.accounts.accounts import Accounts
from service.accounts.keys import ANONYMOUS
from service.http.limits import TextLimits
from service.translation import translation_service
from service.translation.inference import MAX_PREPARING, Inference
from service.translation.request import TranslationRequest
from service.translation.source_language import DetectionMode
from service.translation.translation_service import TranslationService
from tests.service.conftest import router_of
from tests.service.doubles import DoubleTranslator

TIMEOUT_S = 60.0
LIMITS = TextLimits(max_texts=1000, max_characters=100_000)


@pytest.fixture
def desk(translator: DoubleTranslator, models_dir: Path) -> Iterator[TranslationService]:
    with (
        router_of(translator, models_dir / "tiny") as router,
        Accounts.open(None, requires_key=False) as accounts,
    ):
        yield TranslationService(Inference(router, TIMEOUT_S, ()), accounts, LIMITS, DetectionMode.OFF)


async def _translate(desk: TranslationService, *texts: str) -> list[str]:
    order = TranslationRequest(texts, target="en", source="de")
    return [answer.text for answer in await desk.translate(order, ANONYMOUS)]


def while_all_threads_are_busy(desk: TranslationService, scenario: Coroutine[Any, Any, None]) -> None:
    async def run() -> None:
        are_released = threading.Event()
        busy = [
            asyncio.ensure_future(desk.inference.run_in_thread(are_released.wait))
            for _ in range(MAX_PREPARING)
        ]
        await asyncio.sleep(0)
        try:
            await asyncio.wait_for(scenario, TIMEOUT_S)
        finally:
            are_released.set()
            await asyncio.gather(*busy)

    asyncio.run(run())


def test_a_short_order_passes_those_that_take_long_to_take_apart(desk: TranslationService) -> None:
    async def scenario() -> None:
        assert await _translate(desk, "eins", "zwei") == ["EINS", "ZWEI"]

    while_all_threads_are_busy(desk, scenario())


def test_a_short_order_that_there_is_no_room_for_is_refused_at_once(desk: TranslationService) -> None:
    async def scenario() -> None:
        with pytest.raises(Overloaded):
            await _translate(desk, "full")

    while_all_threads_are_busy(desk, scenario())


@pytest.mark.parametrize(
    "texts",
    [
        ("a" * (translation_service.BRIEF_CHARACTERS + 1),),
        ("a",) * (translation_service.BRIEF_TEXTS + 1),
    ],
)
def test_a_long_order_stays_off_the_event_loop(desk: TranslationService, texts: tuple[str, ...]) -> None:
    async def scenario() -> None:
        waiting = asyncio.ensure_future(_translate(desk, *texts))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        waiting.cancel()

    while_all_threads_are_busy(desk, scenario())
