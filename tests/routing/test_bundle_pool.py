"""Bundles in memory: opened once, within the budget, never closed in use."""

import math
import random
import threading
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait

import pytest

from dragoman.bundle import Bundle
from dragoman.errors import BundleError, DeadlineExceeded, MemoryBudgetExceeded
from dragoman.routing.bundle_pool import BundleHandle, _deliver, _Waiter
from tests.routing.doubles import TIMEOUT_S, DoubleBundles, DoubleTranslator, until
from tests.routing.pools import SIZES, MakePool, get, in_seconds, rewritten, until_leaving, use


def test_a_bundle_is_opened_on_first_use_and_stays(make_pool: MakePool, bundles: DoubleBundles) -> None:
    pool = make_pool()
    assert bundles.names == []

    assert use(pool, "a") is use(pool, "a")

    assert bundles.names == ["a"]
    assert pool.open_names() == {"a"}
    assert pool.used_bytes == 10


def test_an_open_bundle_is_leased_at_once(make_pool: MakePool) -> None:
    pool = make_pool()
    use(pool, "a")

    assert pool.acquire("a").done()


def test_many_first_users_open_a_bundle_once(make_pool: MakePool, bundles: DoubleBundles) -> None:
    pool = make_pool()
    bundles.may_open.clear()
    with ThreadPoolExecutor(8) as users:
        asked = [users.submit(pool.acquire, "a").result(TIMEOUT_S) for _ in range(8)]

    bundles.may_open.set()

    assert len({handle.result(TIMEOUT_S).opened for handle in asked}) == 1
    assert bundles.num_opening == 1


def test_others_are_served_while_a_bundle_is_opened(make_pool: MakePool, bundles: DoubleBundles) -> None:
    pool = make_pool()
    use(pool, "b")
    bundles.may_open.clear()

    waiting = pool.acquire("a")
    until(lambda: bundles.num_opening == 2)

    assert pool.acquire("b").done()
    also_waiting = pool.acquire("c")
    until(lambda: bundles.num_opening == 3)  # beside, not after
    assert not waiting.done()
    assert not also_waiting.done()


def test_the_least_recently_used_leaves_first(make_pool: MakePool, bundles: DoubleBundles) -> None:
    pool = make_pool(25)
    for name in ("a", "b", "a", "c"):
        use(pool, name)

    assert sorted(bundles.open_names) == ["a", "c"]
    assert pool.used_bytes == 20


def test_giving_back_late_counts_as_use(make_pool: MakePool, bundles: DoubleBundles) -> None:
    pool = make_pool(25)
    long_use = get(pool, "a")
    use(pool, "b")
    long_use.release()

    use(pool, "c")

    assert sorted(bundles.open_names) == ["a", "c"]


def test_as_many_leave_as_room_is_wanted_for(make_pool: MakePool, bundles: DoubleBundles) -> None:
    pool = make_pool(35)
    for name in ("a", "b", "c", "big"):
        use(pool, name)

    assert sorted(bundles.open_names) == ["big", "c"]


def test_who_is_in_use_stays_though_used_longest_ago(make_pool: MakePool, bundles: DoubleBundles) -> None:
    pool = make_pool(25)
    with get(pool, "a"):
        use(pool, "b")
        use(pool, "c")

        assert sorted(bundles.open_names) == ["a", "c"]


def test_of_those_in_use_the_least_recently_asked_for_makes_room(
    make_pool: MakePool, bundles: DoubleBundles
) -> None:
    pool = make_pool(25)
    in_use = [get(pool, name) for name in ("a", "b", "a")]
    waiting = pool.acquire("c")
    until(lambda: bool(pool._leaving))

    assert [place.name for place in pool._leaving] == ["b"]
    in_use[1].release()
    waiting.result(TIMEOUT_S)
    assert sorted(bundles.open_names) == ["a", "c"]
    assert not in_use[0].opened.is_closed


def test_room_is_waited_for_until_somebody_leaves(make_pool: MakePool, bundles: DoubleBundles) -> None:
    pool = make_pool(15)
    in_use = get(pool, "a")
    other_use = get(pool, "a")

    waiting = pool.acquire("b")
    in_use.release()
    until_leaving(pool, "a")
    assert not waiting.done()
    assert bundles.open_names == ["a"]

    other_use.release()
    assert waiting.result(TIMEOUT_S).opened.manifest.name == "b"
    assert bundles.open_names == ["b"]


def test_nobody_waits_for_ever_while_others_ask_all_the_time(
    make_pool: MakePool, bundles: DoubleBundles
) -> None:
    """Who asks for a bundle that has to leave asks after the one who waits."""
    pool = make_pool(15)
    in_use = get(pool, "a")
    waiting = pool.acquire("b")
    until_leaving(pool, "a")
    again = pool.acquire("a")
    in_use.release()

    handle = waiting.result(TIMEOUT_S)
    assert bundles.names == ["a", "b"]
    assert not again.done()

    handle.release()
    again.result(TIMEOUT_S).release()
    assert bundles.names == ["a", "b", "a"]


def test_who_has_waited_longest_is_served_first(make_pool: MakePool, bundles: DoubleBundles) -> None:
    pool = make_pool(15)
    in_use = get(pool, "a")
    asked = [pool.acquire(name) for name in ("b", "c", "b")]
    in_use.release()

    for handle in asked:
        handle.result(TIMEOUT_S).release()

    assert bundles.names == ["a", "b", "c", "b"]


def test_a_bundle_that_needs_no_room_is_not_held_up_by_one_that_does(make_pool: MakePool) -> None:
    pool = make_pool(35)
    use(pool, "c")
    in_use = get(pool, "big")
    waiting = pool.acquire("a", in_seconds(TIMEOUT_S))  # makes c leave

    waiting.result(TIMEOUT_S)
    asked = pool.acquire("b")  # waits for big
    assert pool.acquire("a").done()
    assert not asked.done()
    in_use.release()


def test_without_room_in_time_there_is_an_error_with_both_figures(make_pool: MakePool) -> None:
    pool = make_pool(15)
    with get(pool, "a"):
        refused = pool.acquire("b", in_seconds(0.05))
        with pytest.raises(
            MemoryBudgetExceeded, match=r"model b needs about 10 bytes .* of the budget of 15; "
        ) as caught:
            refused.result(TIMEOUT_S)

        assert (caught.value.model, caught.value.needed_bytes, caught.value.budget_bytes) == ("b", 10, 15)
        assert get(pool, "a").opened is use(pool, "a")  # takes users again, as nobody waits any more


def test_a_bundle_over_the_budget_is_refused_at_once_with_both_figures(make_pool: MakePool) -> None:
    pool = make_pool(24)

    refused = pool.acquire("big")

    assert refused.done()
    with pytest.raises(
        BundleError, match=r"bundle big: it needs about 25 bytes of memory, but the budget is 24"
    ):
        refused.result()


def test_a_budget_just_large_enough_is_enough(make_pool: MakePool) -> None:
    pool = make_pool(25)

    assert use(pool, "big").manifest.name == "big"


def test_opening_too_slowly_passes_the_deadline_of_who_waits_alone(
    make_pool: MakePool, bundles: DoubleBundles
) -> None:
    pool = make_pool(15)
    bundles.may_open.clear()
    patient = pool.acquire("a")
    hasty = pool.acquire("a", in_seconds(0.05))

    with pytest.raises(DeadlineExceeded):
        hasty.result(TIMEOUT_S)

    bundles.may_open.set()
    patient.result(TIMEOUT_S).release()
    assert bundles.num_opening == 1


def test_who_does_not_want_to_wait_any_more_makes_nothing_leave(
    make_pool: MakePool, bundles: DoubleBundles
) -> None:
    pool = make_pool(15)
    in_use = get(pool, "a")
    given_up = pool.acquire("b")
    until(lambda: bool(pool._leaving))

    assert given_up.cancel()
    until(lambda: not pool._leaving)
    assert pool.acquire("a").done()
    in_use.release()

    assert bundles.names == ["a"]


def test_a_lease_that_was_given_up_is_nobodys(make_pool: MakePool, bundles: DoubleBundles) -> None:
    pool = make_pool(15)
    bundles.may_open.clear()
    assert pool.acquire("a").cancel()
    until(lambda: bundles.num_opening <= 1)
    bundles.may_open.set()

    use(pool, "b")
    assert bundles.open_names == ["b"]


def test_a_lease_given_up_at_the_last_moment_is_given_back(make_pool: MakePool) -> None:
    pool = make_pool(15)
    future: Future[BundleHandle[DoubleTranslator]] = Future()
    future.cancel()

    _deliver(_Waiter("a", 0.0, math.inf, future), get(pool, "a"))

    assert use(pool, "b").manifest.name == "b"


def test_a_lease_is_given_back_once(make_pool: MakePool) -> None:
    pool = make_pool(15)
    handle, other = get(pool, "a"), get(pool, "a")
    handle.release()
    handle.release()

    waiting = pool.acquire("b", in_seconds(0.05))
    with pytest.raises(MemoryBudgetExceeded):
        waiting.result(TIMEOUT_S)
    other.release()


def test_whatever_is_asked_for_nothing_is_closed_in_use_or_over_the_budget(
    make_pool: MakePool, bundles: DoubleBundles, stocked: Mapping[str, Bundle]
) -> None:
    """A double that is closed in use raises; here many users ask at random while bundles are replaced."""
    pool = make_pool(35)
    over_budget: list[int] = []
    served: list[str] = []
    new = {name: rewritten(stocked, name) for name in ("a", "b")}

    def ask(seed: int) -> None:
        choices = random.Random(seed)  # noqa: S311 -- not for secrets
        for _ in range(60):
            name = choices.choice(list(SIZES))
            with pool.acquire(name, math.inf).result(TIMEOUT_S) as double:
                double.num_under_way += 1  # none is closed as long as this is not 0
                served.append(double.manifest.name)
                open_bytes = sum(SIZES[name] for name in bundles.open_names)
                if open_bytes > 35:
                    over_budget.append(open_bytes)
                threading.Event().wait(choices.random() * 0.002)
                double.num_under_way -= 1

    with ThreadPoolExecutor(6) as users:
        asking: list[Future[None]] = [users.submit(ask, seed) for seed in range(6)]
        for _ in range(10):
            pool.set_bundles({**stocked, **new})
            threading.Event().wait(0.01)
            pool.set_bundles(stocked)
            threading.Event().wait(0.01)
        done, unfinished = wait(asking, TIMEOUT_S)
        assert not unfinished
        for future in done:
            future.result()

    assert len(served) == 6 * 60
    assert over_budget == []
