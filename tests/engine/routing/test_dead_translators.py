"""A translator that closed itself, by a fault of the engine's own, is opened again for the next text."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman.errors import TranslatorClosed
from dragoman.routing.router import Router
from dragoman.translator import Translator
from tests.engine.routing.conftest import TINY_BUNDLE
from tests.engine.routing.doubles import TIMEOUT_S, DisruptingMetrics, DoubleBundles, DoubleTranslator, until
from tests.engine.routing.pools import PoolMaker, get, use


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
