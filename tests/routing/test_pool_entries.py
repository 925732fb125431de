"""Who leaves when memory is wanted."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman.routing.pool_entries import PoolEntry, choose_leaving


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
