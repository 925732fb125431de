"""Texts that are given up: out of time, cancelled, without room, or because the router closes."""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path

import pytest

from dragoman import Deadline, EngineRequest
from dragoman.bundle import read_bundle
from dragoman.errors import DeadlineExceeded, InputError, TranslatorClosed
from dragoman.routing.bundle_pool import BundlePool
from dragoman.routing.bundle_runner import BundleRunner, PairTranslator
from dragoman.routing.pivot_translation import PivotTranslation
from dragoman.routing.router import PREPARING_THREADS, Router
from dragoman.routing.routes import Offer, Routes
from tests.engine.routing.conftest import SIZE_BYTES, only_one_fits
from tests.engine.routing.doubles import TIMEOUT_S, DoubleBundles, DoubleTranslator, until


def test_a_deadline_covers_all_steps(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    router.submit("Hallo", "de", "fr", EngineRequest(deadline=Deadline.after(50))).result(TIMEOUT_S)

    (before,), (after,) = first.requests, second.requests
    assert after.deadline is before.deadline


def test_an_exceeded_deadline_is_reported_with_its_own_seconds(
    router: Router, first: DoubleTranslator, bundles: DoubleBundles
) -> None:
    """In the engine, before it, and while a bundle is opened."""
    with pytest.raises(DeadlineExceeded, match="did not finish within 50 s"):
        router.submit("late", "de", "fr", EngineRequest(deadline=Deadline.after(50))).result(TIMEOUT_S)

    with pytest.raises(DeadlineExceeded, match="did not finish within 0 s"):
        router.submit("Hallo", "de", "fr", EngineRequest(deadline=Deadline.after(0)))
    assert len(first.seen) == 1

    bundles.may_open.clear()
    with pytest.raises(DeadlineExceeded, match=r"did not finish within 0\.05 s"):
        router.submit("Hallo", "en", "fr", EngineRequest(deadline=Deadline.after(0.05))).result(TIMEOUT_S)


def test_a_deadline_that_passes_between_the_steps_begins_no_other(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    coming = router.submit("wait", "de", "fr", EngineRequest(deadline=Deadline.after(0.5)))
    until(first.is_waiting.is_set)
    threading.Event().wait(0.51)
    first.released.set()

    with pytest.raises(DeadlineExceeded, match=r"did not finish within 0\.5 s"):
        coming.result(TIMEOUT_S)
    assert second.seen == []


@pytest.mark.parametrize(
    ("source", "target", "is_second", "text"),
    [("de", "fr", False, "wait"), ("en", "fr", True, "wait"), ("de", "fr", True, "wait|de-en")],
)
def test_cancelling_cancels_the_step_that_runs(
    router: Router,
    first: DoubleTranslator,
    second: DoubleTranslator,
    source: str,
    target: str,
    text: str,
    *,
    is_second: bool,
) -> None:
    runs, other = (second, first) if is_second else (first, second)
    if is_second:
        first.released.set()
    coming = router.submit("wait", source, target)
    until(runs.is_waiting.is_set)

    assert coming.cancel()

    until(lambda: runs.cancelled == [text])  # just after, where it was coming back
    assert other.cancelled == []
    assert is_second or second.seen == []


@only_one_fits
def test_cancelling_a_wait_for_memory_unloads_no_model(
    router: Router, first: DoubleTranslator, bundles: DoubleBundles
) -> None:
    in_use = router.submit("wait", "de", "en")
    waiting = router.submit("Hallo", "en", "fr")

    assert waiting.cancel()

    first.released.set()
    assert in_use.result(TIMEOUT_S).translation.text == "wait|de-en"
    router.translate("Hallo", "de", "en")
    assert bundles.names == ["de-en"]
    with pytest.raises(CancelledError):
        waiting.result(0)


@only_one_fits
def test_a_pivot_needs_room_for_one_bundle_at_a_time(router: Router, bundles: DoubleBundles) -> None:
    coming = [router.submit(f"Hallo {number}", "de", "fr") for number in range(20)]

    assert [future.result(TIMEOUT_S).translation.text for future in coming] == [
        f"Hallo {number}|de-en|en-fr" for number in range(20)
    ]
    assert len(bundles.open_names) == 1


@only_one_fits
def test_a_text_that_is_rejected_does_not_keep_its_bundle_in_use(
    router: Router, first: DoubleTranslator
) -> None:
    with pytest.raises(InputError):
        router.submit("unusable", "de", "en")

    assert router.translate("Hallo", "en", "fr").translation.text == "Hallo|en-fr"
    assert first.is_closed


def test_a_text_cancelled_before_its_bundle_was_open_is_not_begun(
    models: Path, bundles: DoubleBundles
) -> None:
    bundle = read_bundle(models / "de-en")
    pool = BundlePool[PairTranslator](bundles.open, lambda _: SIZE_BYTES, None)
    pool.set_bundles({"de-en": bundle})
    route = Routes([Offer("de-en", "de-en", bundle.manifest.languages)]).find("de", "en")
    later: list[Callable[[], None]] = []

    def run_later(work: Callable[[], None]) -> Future[None]:
        later.append(work)
        return Future()

    pivot_translation = PivotTranslation(route, EngineRequest(), BundleRunner(pool, run_later))
    pivot_translation.begin("Hallo")
    until(lambda: bool(later))

    assert pivot_translation.future.cancel()
    later.pop()()

    assert bundles.named("de-en").seen == []
    pool.set_bundles({})
    until(lambda: bundles.open_names == [])
    pool.close()


def test_closing_fails_what_is_under_way(router: Router, first: DoubleTranslator) -> None:
    first.minds_closing = False
    coming = router.submit("wait", "de", "fr")
    until(first.is_waiting.is_set)

    router.close()

    with pytest.raises(TranslatorClosed):
        coming.result(TIMEOUT_S)
    with pytest.raises(TranslatorClosed):
        router.submit("Hallo", "de", "en")
    assert first.is_closed


def test_closing_fails_what_waits_for_a_thread(router: Router) -> None:
    """Work that was never begun resolves no future by itself."""
    is_closing = threading.Event()
    for _ in range(PREPARING_THREADS):
        router._threads.submit(is_closing.wait, TIMEOUT_S)
    coming = router.submit("Hallo", "de", "en")
    until(lambda: bool(router._threads._work_queue.qsize()))
    threading.Timer(0.02, is_closing.set).start()

    router.close()

    with pytest.raises(TranslatorClosed):
        coming.result(0)
