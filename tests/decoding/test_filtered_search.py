"""Searches with filters, against plain Python over filtered models."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.filters import find_repeats, round_up
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits
from dragoman.types import Hypothesis, Method
from tests.decoding import reference_search
from tests.decoding.fake_lanes import search_with
from tests.decoding.fake_stepper import BOS, EOS, FakeStepper, RandomModel, TableModel, sentences, wide_models
from tests.decoding.random_sources import filtered_sources


def search_filtered(
    model: RandomModel | TableModel, sources: list[Source], beam_size: int
) -> list[list[Hypothesis]]:
    return search_with(FakeStepper(model, range(len(sources)), beam_size), sources, Method.FILTERED)


@given(wide_models, st.integers(1, 5), st.data())
@settings(max_examples=120)
def test_a_search_with_filters_finds_what_plain_python_does(
    model: RandomModel, beam_size: int, data: st.DataObject
) -> None:
    sources = data.draw(st.lists(filtered_sources(beam_size), min_size=1, max_size=3))

    results = search_filtered(model, sources, beam_size)

    for number, (source, hypotheses) in enumerate(zip(sources, results, strict=True)):
        filtered = reference_search.FilteredModel(model, source)
        expected = reference_search.best(filtered, number, source, beam_size)
        reference_search.check_equal(hypotheses, expected, tolerance=1e-5)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_filters_that_do_nothing_find_what_a_plain_search_does(beam_size: int) -> None:
    sources = [Source((), TargetLimits(9, 3), (BOS,)) for _ in range(5)]
    plain, filtered = (FakeStepper(RandomModel(30, seed=4), range(5), beam_size) for _ in range(2))

    assert search_with(filtered, sources, Method.FILTERED) == search_with(plain, sources)
    assert max(filtered.num_best) == max(plain.num_best) == beam_size + 1


@pytest.mark.parametrize("beam_size", [1, 2])
def test_the_end_of_sentence_may_come_although_it_starts_the_decoder(beam_size: int) -> None:
    source = Source((), TargetLimits(9, 0), (EOS,), no_repeat_ngram_size=1)
    model = TableModel(5, {(0, (EOS,)): {2: 1.0}, (0, (EOS, 2)): {EOS: 0.9, 3: 0.1}})

    ((hypothesis,),) = search_filtered(model, [source], beam_size)

    assert hypothesis.ids == (2,)
    assert hypothesis.logprob == pytest.approx(math.log(0.9))


@pytest.mark.parametrize("method", [Method.FILTERED, Method.SAMPLE])
def test_forced_tokens_pass_the_filters(method: Method) -> None:
    plain = Source((), TargetLimits(9, 0), (BOS, 2, 2), prefix=(2, 2), sampling=Sampling())
    source = replace(plain, repetition_penalty=5.0, no_repeat_ngram_size=1)

    ((hypothesis,),) = search_with(FakeStepper(sentences(5, [(2, 2, 2, 2, 3)]), [0]), [source], method)

    assert (hypothesis.ids, hypothesis.logprob) == ((2, 2, 3), 0.0)


def test_the_number_of_candidates_has_few_values() -> None:
    stepper = FakeStepper(RandomModel(500, seed=2), [0, 1], 2)
    limits = TargetLimits(100, 99)
    filters: list[dict[str, Any]] = [{"repetition_penalty": 1.3}, {"no_repeat_ngram_size": 2}]

    search_with(stepper, [replace(Source((), limits, (BOS,)), **each) for each in filters], Method.FILTERED)

    assert set(stepper.num_best) == {8, 16, 32, 64, 128}
    assert [round_up(wanted, 100) for wanted in (1, 8, 9, 64, 65, 400)] == [8, 8, 16, 64, 100, 100]


def test_ngrams_alone_ask_for_no_more_than_they_forbid() -> None:
    stepper = FakeStepper(sentences(500, [(2, 3, 2, 4, 2, 5, *range(10, 40))]), [0])

    search_with(stepper, [Source((), TargetLimits(50, 0), (BOS,), no_repeat_ngram_size=2)], Method.FILTERED)

    assert set(stepper.num_best) == {8}


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(0, 5)),
        min_size=1,
        max_size=5,
    )
)
def test_repeats_are_those_that_complete_an_ngram_read_before(rows: list[tuple[list[int], int]]) -> None:
    width = max(len(read) for read, _ in rows)
    padded = np.array([read + [0] * (width - len(read)) for read, _ in rows])
    lengths, sizes = np.array([len(read) for read, _ in rows]), np.array([size for _, size in rows])

    actual = find_repeats(padded, lengths, sizes)

    for (read, size), is_repeat in zip(rows, actual.tolist(), strict=True):
        begun = read[len(read) - size + 1 :]
        expected = [
            bool(size) and place + 1 >= size and place < len(read) and read[place - size + 1 : place] == begun
            for place in range(width)
        ]
        assert is_repeat == expected
