"""What is cached is what was found for an equal source, and no more of it than was allowed."""

from collections.abc import Iterator
from dataclasses import fields, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import Deadline, DecodingOptions, EngineRequest, Translation, Translator
from dragoman.decoding.constraints import Constraints
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits
from dragoman.errors import DeadlineExceeded
from dragoman.pipeline.segment_cache import SegmentCache
from dragoman.types import FinishReason, Hypothesis, Method, SearchKind
from dragoman.weighted_cache import WeightedCache
from tests.engine.conftest import INT8

GREEDY = SearchKind(1)
BEGIN = (2,)
LIMITS = TargetLimits(max_tokens=9, min_tokens=1)


def hypothesis(number: int) -> Hypothesis:
    return Hypothesis((number,), -1.0, 2, -0.5, FinishReason.STOP)


def keep(segment_cache: SegmentCache, source: Source, kind: SearchKind, hypotheses: list[Hypothesis]) -> None:
    segment_cache.storing(source, kind, lambda _: None)(hypotheses)


BASIC = Source([5, 3], LIMITS, BEGIN)
OTHERS: dict[str, tuple[Any, ...]] = {
    "ids": ([5, 4], [5, 3, 3]),
    "limits": (TargetLimits(8, 1), TargetLimits(9, 2)),
    "begin": ((2, 7), (3,)),
    "length_penalty": (0.5,),
    "num_hypotheses": (2,),
    "early_stopping": (True,),
    "prefix": ((7,),),
    "repetition_penalty": (1.5,),
    "no_repeat_ngram_size": (2,),
    "sampling": (Sampling(), Sampling(top_k=1), Sampling(seed=1)),
    "seed": (1,),
    "can_spell_replacement": (True,),
    "wants_attention": (True,),
    "constraints": (Constraints(), Constraints("de"), Constraints("de", forbidden=("a",))),
    "target_ids": ((), (7,)),
}
"""Other values of each field of a source."""


def test_an_equal_source_is_found_in_the_cache_and_every_field_is_part_of_the_key() -> None:
    """A field that is new needs values here."""
    segment_cache = SegmentCache(9)
    keep(segment_cache, BASIC, GREEDY, [hypothesis(1)])

    for field in fields(Source):
        for value in OTHERS[field.name]:
            other = replace(BASIC, **{field.name: value})
            assert segment_cache.find(other, GREEDY) is None, (field.name, value)
    equal = Source((5, 3), TargetLimits(9, 1), (2,))
    assert segment_cache.find(equal, SearchKind(1)) == [hypothesis(1)]


@pytest.mark.parametrize(
    "kind",
    [SearchKind(4), SearchKind(1, is_shortlisted=True), *(SearchKind(1, method=one) for one in Method)],
)
def test_kinds_of_search_are_distinguished(kind: SearchKind) -> None:
    segment_cache = SegmentCache(9)
    keep(segment_cache, BASIC, GREEDY, [hypothesis(1)])

    assert segment_cache.find(BASIC, kind) == ([hypothesis(1)] if kind == GREEDY else None)


def test_samples_without_a_chosen_seed_are_not_cached() -> None:
    segment_cache = SegmentCache(9)
    kind = SearchKind(1, method=Method.SAMPLE)
    chosen = replace(BASIC, sampling=Sampling(seed=4), seed=5)
    keep(segment_cache, replace(BASIC, sampling=Sampling(), seed=5), kind, [hypothesis(1)])
    keep(segment_cache, chosen, kind, [hypothesis(2)])

    assert len(segment_cache) == 1
    assert segment_cache.find(chosen, kind) == [hypothesis(2)]


def test_a_cache_of_size_0_keeps_nothing() -> None:
    segment_cache = SegmentCache(0)
    keep(segment_cache, BASIC, GREEDY, [hypothesis(1)])

    assert segment_cache.find(BASIC, GREEDY) is None
    assert len(segment_cache) == 0


@given(st.integers(1, 4), st.lists(st.tuples(st.booleans(), st.integers(0, 6)), max_size=40))
def test_the_least_recently_used_are_dropped(max_segments: int, requests: list[tuple[bool, int]]) -> None:
    segment_cache = SegmentCache(max_segments)
    used: list[int] = []
    for is_new, token in requests:
        source, is_kept = Source([token, 3], LIMITS, BEGIN), token in used
        if is_new:
            keep(segment_cache, source, GREEDY, [hypothesis(token)])
        else:
            assert segment_cache.find(source, GREEDY) == ([hypothesis(token)] if is_kept else None)
        if is_new or is_kept:
            used = [*(other for other in used if other != token), token][-max_segments:]
    assert len(segment_cache) == len(used) <= max_segments


def test_partitions_do_not_find_what_another_has_kept_and_share_one_bound() -> None:
    segment_cache = SegmentCache(3)
    for number in range(9):
        segment_cache.storing(BASIC, GREEDY, lambda _: None, str(number))([hypothesis(number)])

    assert len(segment_cache) == 3
    found = [segment_cache.find(BASIC, GREEDY, partition) for partition in ("", "5", "6", "7", "8")]
    assert found == [None, None, *([hypothesis(number)] for number in (6, 7, 8))]


TEXT = "Guten Morgen. Wie geht es dir?"


def translate_cached(translator: Translator, request: EngineRequest) -> Translation:
    """What has no time at all is not searched for."""
    return translator.submit(TEXT, replace(request, deadline=Deadline.after(0.0))).result()


@pytest.fixture
def caching() -> Iterator[Translator]:
    with Translator.open(INT8, replicas=1, segment_cache_size=32) as translator:
        yield translator


def test_a_cached_text_is_the_same_and_needs_no_search(caching: Translator) -> None:
    first = caching.translate(TEXT)

    assert translate_cached(caching, EngineRequest()) == first == caching.translate(TEXT)
    with pytest.raises(DeadlineExceeded):
        translate_cached(caching, EngineRequest(DecodingOptions(beam_size=2)))


def test_a_list_that_repeats_a_known_segment_is_answered_in_order(tiny_int8: Translator) -> None:
    texts = ["Guten Morgen.", "Wie geht es dir?", "Guten Morgen.", "Das ist ein Hund."]
    expected = tiny_int8.translate(texts)
    with Translator.open(INT8, segment_cache_size=2) as caching:
        assert caching.translate(texts) == expected
        assert caching.translate(texts) == expected
        assert list(caching.translate_many(texts)) == expected


def test_tokens_are_reported_although_the_text_is_known(caching: Translator) -> None:
    greedy = DecodingOptions(beam_size=1)
    caching.translate(TEXT, greedy)
    reported: list[str] = []

    caching.submit(TEXT, EngineRequest(greedy, on_token=lambda _, text: reported.append(text))).result()

    assert len(reported) > 1


def test_a_caller_who_changes_what_he_got_changes_nothing_else(caching: Translator) -> None:
    first = caching.search([[5, 6, 3]])
    expected = list(first[0])
    first[0].clear()

    assert caching.search([[5, 6, 3]]) == [expected]


@pytest.mark.parametrize("is_list", [False, True])
def test_a_text_known_in_one_partition_is_searched_for_in_another(
    caching: Translator, *, is_list: bool
) -> None:
    """Alignments are known as well."""
    request = EngineRequest(DecodingOptions(return_alignment=True), cache_partition="a")
    if is_list:
        (known,) = caching.translate_many([TEXT], request)
    else:
        known = caching.submit(TEXT, request).result()

    assert translate_cached(caching, request) == known
    for other in ("b", ""):
        with pytest.raises(DeadlineExceeded):
            translate_cached(caching, replace(request, cache_partition=other))


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
