"""A bundle pool when bundles fail, change or are removed, and when it is closed."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman.bundle import read_bundle
from dragoman.errors import BundleError, MemoryBudgetExceeded, TranslatorClosed
from dragoman.routing.bundle_pool import BundlePool
from tests.engine.routing.conftest import PoolMaker, get, in_seconds, size_of, use
from tests.engine.routing.doubles import TIMEOUT_S, DoubleTranslator, until, write_bundle


def test_a_failure_to_open_reaches_all_waiting_callers_and_is_not_repeated_until_the_next_scan(
    pool_maker: PoolMaker,
) -> None:
    pool = pool_maker.pool(15)
    pool_maker.bundles.may_open.clear()
    pool_maker.bundles.failure = BundleError("a", ("is damaged",))
    requested = [pool.acquire("a") for _ in range(3)]
    pool_maker.bundles.may_open.set()

    for handle in [*requested, pool.acquire("a")]:
        with pytest.raises(BundleError, match="is damaged"):
            handle.result(TIMEOUT_S)
    assert pool_maker.bundles.num_opening == 1
    assert pool.used_bytes == 0

    pool_maker.bundles.failure = None
    pool.set_bundles(pool_maker.stocked)
    assert not use(pool, "a").is_closed


def test_a_changed_bundle_is_opened_again_and_the_old_one_ends_with_its_users(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(35)
    in_use = get(pool, "a")
    other = use(pool, "b")
    old = in_use.opened

    pool.set_bundles({**pool_maker.stocked, "a": pool_maker.rewritten("a")})

    new = use(pool, "a")
    assert new is not old
    assert new.manifest != old.manifest
    assert not old.is_closed
    assert use(pool, "b") is other
    in_use.release()
    until(lambda: old.is_closed)
    assert use(pool, "a") is new


def test_without_memory_for_both_the_new_bundle_waits_for_the_old(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    in_use = get(pool, "a")
    pool.set_bundles({**pool_maker.stocked, "a": pool_maker.rewritten("a")})

    waiting = pool.acquire("a")
    assert not waiting.done()
    in_use.release()

    assert waiting.result(TIMEOUT_S).opened is pool_maker.bundles.opened[1]


def test_a_bundle_changed_while_it_is_opened_is_opened_again(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(35)
    pool_maker.bundles.may_open.clear()
    waiting = pool.acquire("a")
    until(lambda: pool_maker.bundles.num_opening == 1)
    new = pool_maker.rewritten("a")
    pool.set_bundles({**pool_maker.stocked, "a": new})
    pool_maker.bundles.may_open.set()

    assert waiting.result(TIMEOUT_S).opened.manifest == new.manifest
    until(lambda: len(pool_maker.bundles.open_names) == 1)


def test_a_removed_bundle_is_closed_when_it_is_free(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool()
    in_use, free = get(pool, "a"), use(pool, "b")
    left = {name: bundle for name, bundle in pool_maker.stocked.items() if name not in {"a", "b"}}

    pool.set_bundles(left)

    until(lambda: free.is_closed)
    assert not in_use.opened.is_closed
    with pytest.raises(BundleError, match="was removed"):
        pool.acquire("a").result(0)
    removed = in_use.opened
    in_use.release()
    until(lambda: removed.is_closed)
    assert pool.bundles().keys() == left.keys()


def test_a_damaged_folder_leaves_the_open_bundle_and_takes_one_that_is_not(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(25)
    double = use(pool, "a")
    left = {name: bundle for name, bundle in pool_maker.stocked.items() if name not in {"a", "b"}}

    pool.set_bundles(left, damaged=["a", "b"])

    assert pool.bundles().keys() == {"a", "c", "big"}
    use(pool, "c")
    with pytest.raises(MemoryBudgetExceeded):  # a cannot be opened again, and so it stays
        pool.acquire("big", in_seconds(0.05)).result(TIMEOUT_S)
    assert use(pool, "a") is double

    pool.set_bundles(pool_maker.stocked)
    use(pool, "big")
    assert pool_maker.bundles.open_names == ["big"]


def test_an_opened_bundle_is_the_one_in_its_folder(pool_maker: PoolMaker) -> None:
    """A folder may be replaced after it was looked at and before it is opened."""
    pool = pool_maker.pool()
    version = pool.version
    folder = pool_maker.stocked["a"].path
    folder.rename(folder.with_name("old"))
    write_bundle(folder, "a", ["fr"], ["cs"])

    double = use(pool, "a")

    assert pool.bundles()["a"].manifest == double.manifest != pool_maker.stocked["a"].manifest
    assert pool.version > version
    pool.set_bundles({**pool_maker.stocked, "a": pool.bundles()["a"]})
    assert use(pool, "a") is double


def test_a_bundle_replaced_while_it_is_opened_is_opened_again(pool_maker: PoolMaker) -> None:
    tried: list[Path] = []

    def open_slowly(path: Path) -> DoubleTranslator:
        tried.append(path)
        if len(tried) == 1:
            path.rename(path.with_name("old"))
            write_bundle(path, "a", filler="new")
            raise BundleError("a", ("files of two bundles",))
        return pool_maker.bundles.open(path)

    pool = BundlePool(open_slowly, size_of, None)
    pool.set_bundles(pool_maker.stocked)

    assert use(pool, "a").manifest == read_bundle(pool_maker.stocked["a"].path).manifest
    assert len(tried) == 2
    pool.close()


def test_closing_fails_who_waits_and_closes_all(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    in_use = get(pool, "a")
    waiting = pool.acquire("b")

    pool.close()

    with pytest.raises(TranslatorClosed):
        waiting.result(0)
    with pytest.raises(TranslatorClosed):
        pool.acquire("a")
    assert pool_maker.bundles.open_names == []
    in_use.release()
    pool.close()


def test_closing_waits_for_what_is_being_opened(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool()
    pool_maker.bundles.may_open.clear()
    pool.acquire("a")
    until(lambda: pool_maker.bundles.num_opening == 1)
    with ThreadPoolExecutor(1) as closer:
        closing = closer.submit(pool.close)
        pool_maker.bundles.may_open.set()
        closing.result(TIMEOUT_S)

    assert pool_maker.bundles.names == ["a"]
    assert pool_maker.bundles.open_names == []
