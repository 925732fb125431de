"""The cache with a maximum weight."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from dragoman.weighted_cache import WeightedCache


def make_once(key: int, *, is_known: bool) -> int:
    assert not is_known
    return key


@given(st.integers(0, 30), st.lists(st.integers(0, 12)))
def test_values_weigh_at_most_the_maximum_together_or_one_is_alone(maximum: int, keys: list[int]) -> None:
    cache: WeightedCache[int, int] = WeightedCache(maximum, lambda value: value)
    used: list[int] = []
    for key in keys:
        assert cache.get(key, partial(make_once, key, is_known=key in used)) == key
        kept = [other for other in used if other != key]
        used = [*kept, key]
        while sum(used) > maximum and len(used) > 1:
            used.pop(0)
        assert len(cache) == len(used)


def test_of_two_values_made_at_a_time_all_get_the_first() -> None:
    cache: WeightedCache[str, list[int]] = WeightedCache(10, len)

    def make() -> list[int]:
        cache.get("a", lambda: [1])
        return [2]

    assert cache.get("a", make) is cache.get("a", lambda: [3])
    assert cache.get("a", lambda: [3]) == [1]
