"""Texts that are given up: out of time, cancelled, without room, or because a translator or router closes."""

import threading
from collections.abc import Callable, Iterator
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
from dragoman.translator import Translator
from tests.engine.routing.conftest import SIZE_BYTES, TINY_BUNDLE, PoolMaker, get, only_one_fits, use
from tests.engine.routing.doubles import TIMEOUT_S, DisruptingMetrics, DoubleBundles, DoubleTranslator, until


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


@pytest.fixture
def engine_metrics() -> DisruptingMetrics:
    return DisruptingMetrics()


@pytest.fixture
def opened() -> list[Translator]:
    return []


@pytest.fixture
def real_router(engine_metrics: DisruptingMetrics, opened: list[Translator]) -> Iterator[Router]:
    """Over the tiny model, whose engine can be made to fail."""

    def open_bundle(path: Path) -> Translator:
        opened.append(Translator.open(path, replicas=2, engine_metrics=engine_metrics))
        return opened[-1]

    with Router(lambda: {"tiny": TINY_BUNDLE}, open_bundle, lambda _: 1) as router:
        yield router


def test_a_translator_is_closed_once_a_step_has_failed_or_it_was_closed(
    engine_metrics: DisruptingMetrics,
) -> None:
    with Translator.open(TINY_BUNDLE, replicas=1, engine_metrics=engine_metrics) as translator:
        seen = [translator.is_closed]
        engine_metrics.is_armed = True
        with pytest.raises(MemoryError):
            translator.submit("Ja.").result(TIMEOUT_S)
        seen.append(translator.is_closed)

    with Translator.open(TINY_BUNDLE) as other:
        seen.append(other.is_closed)
    assert [*seen, other.is_closed] == [False, True, False, True]


def test_texts_of_a_dying_engine_fail_and_the_next_one_is_translated(
    real_router: Router, engine_metrics: DisruptingMetrics, opened: list[Translator]
) -> None:
    wanted = real_router.translate("Das Kind spielt im Garten.").translation.text
    engine_metrics.may_go_on.clear()
    engine_metrics.is_armed = True
    under_way = [real_router.submit("Das Kind spielt im Garten.\n" * 20) for _ in range(8)]
    engine_metrics.may_go_on.set()

    errors = [future.exception(TIMEOUT_S) for future in under_way]

    assert {type(error) for error in errors} <= {MemoryError, TranslatorClosed}
    assert any(isinstance(error, MemoryError) for error in errors)
    assert real_router.translate("Das Kind spielt im Garten.").translation.text == wanted
    assert [translator.is_closed for translator in opened] == [True, False]
    until(lambda: real_router.used_bytes == 1)


def test_a_target_is_read_by_the_engine_that_took_a_dead_ones_place(
    real_router: Router, engine_metrics: DisruptingMetrics
) -> None:
    route = real_router.route()
    wanted = real_router.score(route, "Ja.", "Yes.").result(TIMEOUT_S)
    engine_metrics.is_armed = True
    with pytest.raises(MemoryError):
        real_router.score(route, "Ja.", "Yes.").result(TIMEOUT_S)

    assert real_router.score(route, "Ja.", "Yes.").result(TIMEOUT_S) == wanted


def test_a_dead_bundle_is_opened_again_once_however_many_ask(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool()
    use(pool, "a").is_closed = True
    pool_maker.bundles.may_open.clear()
    requested = [pool.acquire("a") for _ in range(8)]
    pool_maker.bundles.may_open.set()

    assert len({handle.result(TIMEOUT_S).opened for handle in requested}) == 1
    assert pool_maker.bundles.names == ["a", "a"]
    until(lambda: pool.used_bytes == 10)


def test_a_dead_bundles_memory_counts_until_its_last_user_gave_it_back(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    last_user = get(pool, "a")
    last_user.opened.is_closed = True

    waiting = pool.acquire("a")
    assert not waiting.done()
    assert (pool_maker.bundles.names, pool.used_bytes) == (["a"], 10)
    last_user.release()

    with waiting.result(TIMEOUT_S) as reopened:
        assert not reopened.is_closed
    assert (pool_maker.bundles.names, pool.used_bytes) == (["a", "a"], 10)


def test_with_free_memory_no_request_waits_for_users_of_a_dead_bundle(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool()
    last_user = get(pool, "a")
    last_user.opened.is_closed = True

    reopened = get(pool, "a")

    assert pool.used_bytes == 20
    last_user.release()
    until(lambda: pool.used_bytes == 10)
    assert not reopened.opened.is_closed


def test_a_dead_bundle_takes_no_room_of_those_that_live(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(25)
    alive = use(pool, "b")
    use(pool, "a").is_closed = True

    use(pool, "a")

    assert use(pool, "b") is alive
    assert pool_maker.bundles.names == ["b", "a", "a"]
    assert pool.used_bytes == 20


def test_a_bundle_that_is_dead_as_soon_as_it_is_open_is_not_opened_for_ever(
    pool_maker: PoolMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = pool_maker.pool()
    monkeypatch.setattr(
        DoubleTranslator, "is_closed", property(lambda _: True, lambda *_: None), raising=False
    )

    for _ in range(2):
        with pytest.raises(TranslatorClosed, match="a was closed before its first use"):
            get(pool, "a")

    assert pool_maker.bundles.num_opening == 1


def test_a_pivot_goes_on_through_a_bundle_that_died_before(
    router: Router, first: DoubleTranslator, second: DoubleTranslator, bundles: DoubleBundles
) -> None:
    first.is_closed = second.is_closed = True

    assert router.translate("Hallo", "de", "fr").translation.text == "Hallo|de-en|en-fr"

    assert sorted(bundles.names) == ["de-en", "de-en", "en-fr", "en-fr"]
