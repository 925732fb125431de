"""Real bundles behind the router: it gives what they give one after the other."""

import gc
import shutil
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman import Deadline, DecodingOptions, EngineRequest, Translator
from dragoman.routing.router import Router, RouterOptions, TranslatorOptions
from dragoman.types import Pair
from tests.routing.conftest import relabel
from tests.routing.doubles import TIMEOUT_S

TEXTS = [
    "Der Hund ist klein.",
    "Das Kind spielt im Garten.\n\nDer Hund ist klein. Ja.",
    "",
    "123",
    "\n Ein Hund \n",
]


@pytest.fixture(scope="module")
def router(tiny_models: Path) -> Iterator[Router]:
    with Router.open(tiny_models) as router:
        yield router


@pytest.fixture(scope="module")
def tiny(tiny_models: Path) -> Iterator[dict[str, Translator]]:
    """The same bundles, each alone."""
    with Translator.open(tiny_models / "de-en") as first, Translator.open(tiny_models / "en-fr") as second:
        yield {"de-en": first, "en-fr": second}


def test_one_bundle_gives_what_it_gives_alone(router: Router, tiny: dict[str, Translator]) -> None:
    options = DecodingOptions(num_hypotheses=2)

    for text in TEXTS:
        routed = router.translate(text, "de", "en", options)
        assert routed.translation == tiny["de-en"].translate(text, options)


def test_a_pivot_gives_what_both_give_one_after_the_other(
    router: Router, tiny: dict[str, Translator]
) -> None:
    many = list(router.translate_many(TEXTS, "de", "fr"))

    for text, listed in zip(TEXTS, many, strict=True):
        routed = router.translate(text, "de", "fr")
        first = tiny["de-en"].translate(text)
        second = tiny["en-fr"].translate(first.text, pair=Pair("en", "fr"))
        assert routed.translation.text == second.text
        assert [step.score for step in routed.steps] == [first.score, second.score]
        assert first.score is not None
        assert second.score is not None
        assert routed.translation.score == second.score + first.score
        assert routed.translation.text.count("\n") == text.count("\n")
        assert listed == routed


def test_bundles_that_do_not_fit_together_take_turns(tiny_models: Path, tiny: dict[str, Translator]) -> None:
    translators = TranslatorOptions(replicas=1)
    budget_bytes = translators.estimate_bytes(tiny["de-en"].manifest)
    options = RouterOptions(budget_bytes=budget_bytes)

    with Router.open(tiny_models, translators=translators, options=options) as router:
        coming = [router.submit(TEXTS[0], "de", target) for target in ("en", "fr") * 4]
        texts = [future.result(TIMEOUT_S).translation.text for future in coming]
        assert sum(model.is_open for model in router.models()) == 1

    first = tiny["de-en"].translate(TEXTS[0]).text
    assert texts == [first, tiny["en-fr"].translate(first).text] * 4


def test_a_bundle_is_replaced_while_it_translates_and_no_text_is_lost(tmp_path: Path) -> None:
    models = tmp_path / "models"
    relabel(models / "de-en", "old", "de", "en")
    stop = threading.Event()
    titles: set[str] = set()

    with Router.open(models, translators=TranslatorOptions(replicas=1)) as router:

        def ask() -> int:
            num_done = 0
            while not stop.is_set():
                routed = router.submit(
                    TEXTS[1], request=EngineRequest(deadline=Deadline.after(TIMEOUT_S))
                ).result(TIMEOUT_S)
                assert routed.translation.text
                titles.update(offer.title for offer in router.offers())
                num_done += 1
            return num_done

        with ThreadPoolExecutor(3) as users:
            asking = [users.submit(ask) for _ in range(3)]
            try:
                for turn in range(4):
                    staging = relabel(models / ".staging", f"new {turn}", "de", "en")
                    (models / "de-en").rename(models / ".old")
                    staging.rename(models / "de-en")
                    shutil.rmtree(models / ".old")
                    router.reload()
                    threading.Event().wait(0.1)
            finally:
                stop.set()
            assert all(one.result(TIMEOUT_S) > 0 for one in asking)

    assert "new 3" in titles


def test_a_closed_bundle_leaves_the_memory(tiny_models: Path) -> None:
    """By itself: not only when Python happens to look for what is unused."""
    opened: list[weakref.ref[Translator]] = []

    def open_watched(path: Path) -> Translator:
        translator = Translator.open(path, replicas=1)
        opened.append(weakref.ref(translator))
        return translator

    folders = {"de-en": tiny_models / "de-en", "en-fr": tiny_models / "en-fr"}
    options = RouterOptions(budget_bytes=1)
    gc.disable()
    try:
        with Router(lambda: folders, open_watched, lambda _: 1, options) as router:
            kept = router.submit(TEXTS[0], "de", "fr")
            kept.result(TIMEOUT_S)
            assert opened[0]() is None
    finally:
        gc.enable()


def test_a_translated_text_leaves_nothing_to_the_collector_of_cycles(router: Router) -> None:
    def translate() -> None:
        router.submit("Das Kind spielt. Der Hund schläft.", "de", "en").result(TIMEOUT_S)

    translate()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        translate()
        gc.collect()
        left = {type(found).__qualname__ for found in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()

    assert not left & {
        "Future",
        "SegmentRequest",
        "PivotTranslation",
        "PendingTranslation",
        "RoutedTranslation",
    }
