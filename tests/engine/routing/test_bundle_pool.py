"""Bundles in memory: opened once, within the budget, never closed in use."""

import math
import multiprocessing
from concurrent.futures import Future

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.errors import BundleError, DeadlineExceeded, MemoryBudgetExceeded
from dragoman.routing.bundle_pool import BundleHandle, _deliver, _Waiter
from dragoman.routing.pool_entries import PoolEntry, choose_leaving
from tests.engine.routing.conftest import SIZES, PoolMaker, get, in_seconds, until_leaving, use
from tests.engine.routing.doubles import TIMEOUT_S, DoubleTranslator, until


def test_a_bundle_is_opened_on_first_use_and_stays(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool()
    assert pool_maker.bundles.names == []

    assert use(pool, "a") is use(pool, "a")

    assert pool.acquire("a").done()
    assert pool_maker.bundles.names == ["a"]
    assert (list(pool.opened_by_name()), pool.used_bytes) == (["a"], 10)


def test_others_are_served_while_a_bundle_is_opened(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool()
    use(pool, "b")
    pool_maker.bundles.may_open.clear()

    waiting = pool.acquire("a")
    until(lambda: pool_maker.bundles.num_opening == 2)

    assert pool.acquire("b").done()
    also_waiting = pool.acquire("c")
    until(lambda: pool_maker.bundles.num_opening == 3)  # beside, not after
    assert not waiting.done()
    assert not also_waiting.done()


@pytest.mark.parametrize(
    ("budget_bytes", "uses", "left"),
    [(25, ("a", "b", "a", "c"), ["a", "c"]), (35, ("a", "b", "c", "big"), ["big", "c"])],
)
def test_the_least_recently_used_leave_first_and_as_many_as_room_is_wanted_for(
    pool_maker: PoolMaker, budget_bytes: int, uses: tuple[str, ...], left: list[str]
) -> None:
    pool = pool_maker.pool(budget_bytes)
    for name in uses:
        use(pool, name)

    assert sorted(pool_maker.bundles.open_names) == left
    assert pool.used_bytes == sum(SIZES[name] for name in left)


def test_giving_back_late_counts_as_use(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(25)
    long_use = get(pool, "a")
    use(pool, "b")
    long_use.release()

    use(pool, "c")

    assert sorted(pool_maker.bundles.open_names) == ["a", "c"]


def test_a_model_waits_for_memory_until_another_is_unused(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    in_use = get(pool, "a")
    other_use = get(pool, "a")

    waiting = pool.acquire("b")
    in_use.release()
    until_leaving(pool, "a")
    assert not waiting.done()
    assert pool_maker.bundles.open_names == ["a"]

    other_use.release()
    assert waiting.result(TIMEOUT_S).opened.manifest.name == "b"
    assert pool_maker.bundles.open_names == ["b"]


def test_a_waiting_caller_is_served_while_others_keep_asking(pool_maker: PoolMaker) -> None:
    """Who asks for a bundle that has to leave asks after the one who waits."""
    pool = pool_maker.pool(15)
    in_use = get(pool, "a")
    waiting = pool.acquire("b")
    until_leaving(pool, "a")
    again = pool.acquire("a")
    in_use.release()

    handle = waiting.result(TIMEOUT_S)
    assert pool_maker.bundles.names == ["a", "b"]
    assert not again.done()

    handle.release()
    again.result(TIMEOUT_S).release()
    assert pool_maker.bundles.names == ["a", "b", "a"]


def test_the_longest_waiting_caller_is_served_first(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    in_use = get(pool, "a")
    requested = [pool.acquire(name) for name in ("b", "c", "b")]
    in_use.release()

    for handle in requested:
        handle.result(TIMEOUT_S).release()

    assert pool_maker.bundles.names == ["a", "b", "c", "b"]


def test_a_bundle_that_needs_no_room_is_not_held_up_by_one_that_does(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(35)
    use(pool, "c")
    in_use = get(pool, "big")
    waiting = pool.acquire("a", in_seconds(TIMEOUT_S))  # makes c leave

    waiting.result(TIMEOUT_S)
    requested = pool.acquire("b")  # waits for big
    assert pool.acquire("a").done()
    assert not requested.done()
    in_use.release()


def test_without_room_in_time_there_is_an_error_with_both_figures(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    with get(pool, "a"):
        refused = pool.acquire("b", in_seconds(0.05))
        with pytest.raises(
            MemoryBudgetExceeded, match=r"model b needs about 10 bytes .* of the budget of 15; "
        ) as caught:
            refused.result(TIMEOUT_S)

        assert (caught.value.model, caught.value.needed_bytes, caught.value.budget_bytes) == ("b", 10, 15)
        assert get(pool, "a").opened is use(pool, "a")  # takes users again, as nobody waits any more


def test_a_bundle_over_the_budget_is_rejected_at_once_with_both_figures(pool_maker: PoolMaker) -> None:
    refused = pool_maker.pool(24).acquire("big")

    assert refused.done()
    with pytest.raises(
        BundleError, match=r"bundle big: it needs about 25 bytes of memory, but the budget is 24"
    ):
        refused.result()
    assert use(pool_maker.pool(25), "big").manifest.name == "big"


def test_opening_too_slowly_passes_the_deadline_of_who_waits_alone(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    pool_maker.bundles.may_open.clear()
    patient = pool.acquire("a")
    hasty = pool.acquire("a", in_seconds(0.05))

    with pytest.raises(DeadlineExceeded):
        hasty.result(TIMEOUT_S)

    pool_maker.bundles.may_open.set()
    patient.result(TIMEOUT_S).release()
    assert pool_maker.bundles.num_opening == 1


def test_a_cancelled_wait_unloads_no_model(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    in_use = get(pool, "a")
    given_up = pool.acquire("b")
    until(lambda: bool(pool._leaving))

    assert given_up.cancel()
    until(lambda: not pool._leaving)
    assert pool.acquire("a").done()
    in_use.release()

    assert pool_maker.bundles.names == ["a"]


def test_a_cancelled_wait_gets_no_handle(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    pool_maker.bundles.may_open.clear()
    assert pool.acquire("a").cancel()
    until(lambda: pool_maker.bundles.num_opening <= 1)
    pool_maker.bundles.may_open.set()

    use(pool, "b")
    assert pool_maker.bundles.open_names == ["b"]


def test_a_handle_cancelled_as_it_arrives_is_returned(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    future: Future[BundleHandle[DoubleTranslator]] = Future()
    future.cancel()

    _deliver(_Waiter("a", 0.0, math.inf, future), get(pool, "a"))

    assert use(pool, "b").manifest.name == "b"


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_only_the_parent_opens_or_uses_is_in_no_forked_processs_way(pool_maker: PoolMaker) -> None:
    pool, bundles = pool_maker.pool(25), pool_maker.bundles
    in_use = get(pool, "a")
    bundles.may_open.clear()
    pool.acquire("b")
    until(lambda: bundles.num_opening == 2)

    def use_others() -> None:
        bundles.may_open.set()
        get(pool, "b")
        get(pool, "c")  # in the memory of `a`
        pool.close()

    child = multiprocessing.get_context("fork").Process(target=use_others)
    child.start()
    child.join(TIMEOUT_S)
    assert child.exitcode == 0
    in_use.release()
    bundles.may_open.set()


def test_a_handle_is_returned_once(pool_maker: PoolMaker) -> None:
    pool = pool_maker.pool(15)
    handle, other = get(pool, "a"), get(pool, "a")
    handle.release()
    handle.release()

    waiting = pool.acquire("b", in_seconds(0.05))
    with pytest.raises(MemoryBudgetExceeded):
        waiting.result(TIMEOUT_S)
    other.release()


def mostly(*, is_so: bool) -> st.SearchStrategy[bool]:
    """So that several may leave, as a rule."""
    return st.sampled_from([is_so, is_so, is_so, is_so, not is_so])


places = st.lists(
    st.builds(
        PoolEntry[str],
        name=st.just("any"),
        size_bytes=st.integers(1, 10),
        opened=st.sampled_from([None, "open", "open", "open"]),
        num_users=st.integers(0, 2),
        last_used=st.integers(0, 5),
        is_current=mostly(is_so=True),
        is_kept=mostly(is_so=False),
    ),
    max_size=6,
)


def may_leave(place: PoolEntry[str]) -> bool:
    return place.is_current and place.opened is not None and not place.is_kept


@given(places=places, needed_bytes=st.integers(-5, 40))
def test_just_enough_leaves_or_nothing_and_who_stays_was_used_later(
    places: list[PoolEntry[str]], needed_bytes: int
) -> None:
    leaving = choose_leaving(places, needed_bytes)

    room_bytes = sum(place.size_bytes for place in places if may_leave(place))
    if not 0 < needed_bytes <= room_bytes:
        assert leaving == []
    else:
        assert sum(place.size_bytes for place in leaving) >= needed_bytes
        assert sum(place.size_bytes for place in leaving[:-1]) < needed_bytes
        assert all(may_leave(place) for place in leaving)
    for left in leaving:
        for stays in places:
            if may_leave(stays) and stays not in leaving:
                assert (left.num_users > 0, left.last_used) <= (stays.num_users > 0, stays.last_used)
