"""Beam search, against plain Python, brute force and small examples worked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import inherit
from dragoman.decoding.loop import make_strategy, search
from dragoman.decoding.options import DecodingOptions
from dragoman.decoding.strategy import SourceLimits
from dragoman.types import FinishReason, Hypothesis
from tests.decoding import reference_search
from tests.decoding.fake_stepper import (
    BOS,
    EOS,
    FakeStepper,
    RandomModel,
    TableModel,
    random_models,
    sentences,
)

source_limits = st.integers(1, 7).flatmap(
    lambda max_tokens: st.builds(SourceLimits, st.just(max_tokens), st.integers(0, max_tokens))
)
beam_options = st.integers(2, 6).flatmap(
    lambda beam_size: st.builds(
        DecodingOptions,
        beam_size=st.just(beam_size),
        num_hypotheses=st.integers(1, beam_size),
        length_penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
    )
)


def search_by_beam(
    stepper: FakeStepper, limits: list[SourceLimits], options: DecodingOptions
) -> list[list[Hypothesis]]:
    return search(stepper, make_strategy(limits, options, BOS, EOS, stepper.model.vocab_size))


def one_source(model: TableModel, limits: SourceLimits, options: DecodingOptions) -> list[Hypothesis]:
    (hypotheses,) = search_by_beam(FakeStepper(model, [0], options.beam_size), [limits], options)
    return hypotheses


@given(random_models(), st.lists(source_limits, min_size=1, max_size=4), beam_options)
@settings(deadline=None, max_examples=300)
def test_beam_search_equals_the_same_in_plain_python(
    model: RandomModel, limits: list[SourceLimits], options: DecodingOptions
) -> None:
    stepper = FakeStepper(model, range(len(limits)), options.beam_size)

    results = search_by_beam(stepper, limits, options)

    num_steps = []
    for source, hypotheses in enumerate(results):
        expected, steps = reference_search.beam(model, source, limits[source], options)
        num_steps.append(steps)
        if not expected:
            assert [hypothesis.logprob for hypothesis in hypotheses] == [-math.inf]
            continue
        assert [hypothesis.ids for hypothesis in hypotheses] == [found.ids for found in expected]
        assert [one.finish_reason for one in hypotheses] == [found.finish_reason for found in expected]
        assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected], abs=1e-6)
    assert stepper.num_rows == [
        options.beam_size * sum(steps > step for steps in num_steps) for step in range(max(num_steps))
    ]


@pytest.mark.parametrize("length_penalty", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize(("vocab_size", "max_tokens"), [(3, 4), (5, 2), (2, 6), (32, 1)])
@pytest.mark.parametrize("min_tokens", [0, 1])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_beam_wide_enough_for_all_sequences_finds_the_best_of_all(
    vocab_size: int, max_tokens: int, min_tokens: int, seed: int, length_penalty: float
) -> None:
    model = RandomModel(vocab_size, seed)
    limits = SourceLimits(max_tokens, min_tokens)
    options = DecodingOptions(beam_size=32, num_hypotheses=32, length_penalty=length_penalty)

    (hypotheses,) = search_by_beam(FakeStepper(model, [7], 32), [limits], options)

    expected = reference_search.exhaustive(model, 7, limits, length_penalty)[:32]
    assert [hypothesis.ids for hypothesis in hypotheses] == [found.ids for found in expected]
    assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected], abs=1e-6)


@given(random_models(), st.lists(source_limits, min_size=1, max_size=4), beam_options)
@settings(deadline=None)
def test_hypotheses_are_distinct_and_sorted_with_cut_ones_last(
    model: RandomModel, limits: list[SourceLimits], options: DecodingOptions
) -> None:
    stepper = FakeStepper(model, range(len(limits)), options.beam_size)

    for hypotheses in search_by_beam(stepper, limits, options):
        keys = [(one.finish_reason is FinishReason.LENGTH, -one.score) for one in hypotheses]
        assert keys == sorted(keys)
        assert len({one.ids for one in hypotheses}) == len(hypotheses)
        assert 1 <= len(hypotheses) <= options.num_hypotheses


@given(random_models(), st.lists(source_limits, min_size=1, max_size=4), beam_options)
@settings(deadline=None)
def test_limits_hold_and_count_the_end_of_sentence_as_documented(
    model: RandomModel, limits: list[SourceLimits], options: DecodingOptions
) -> None:
    stepper = FakeStepper(model, range(len(limits)), options.beam_size)

    for limit, hypotheses in zip(limits, search_by_beam(stepper, limits, options), strict=True):
        for hypothesis in hypotheses:
            assert EOS not in hypothesis.ids
            assert limit.min_tokens <= len(hypothesis.ids)
            if hypothesis.finish_reason is FinishReason.STOP:
                assert hypothesis.num_tokens == len(hypothesis.ids) + 1 <= limit.max_tokens
            else:
                assert hypothesis.num_tokens == len(hypothesis.ids) == limit.max_tokens


@given(random_models(), st.lists(source_limits, min_size=1, max_size=4), beam_options)
@settings(deadline=None)
def test_a_logprob_is_the_sum_over_the_hypothesis_own_tokens(
    model: RandomModel, limits: list[SourceLimits], options: DecodingOptions
) -> None:
    stepper = FakeStepper(model, range(len(limits)), options.beam_size)

    for source, hypotheses in enumerate(search_by_beam(stepper, limits, options)):
        for one in hypotheses:
            tokens = (*one.ids, EOS)[: one.num_tokens]
            steps = [model.logprobs(source, tokens[:nth])[token] for nth, token in enumerate(tokens)]
            assert one.logprob == pytest.approx(float(np.sum(steps, dtype=np.float64)))
            assert one.score == pytest.approx(one.logprob / one.num_tokens**options.length_penalty)


def test_a_longer_sentence_wins_only_under_a_length_penalty() -> None:
    model = TableModel(4, {(0, ()): {2: 0.6, EOS: 0.4}, (0, (2,)): {3: 0.6, EOS: 0.4}})
    limits = SourceLimits(max_tokens=3, min_tokens=0)

    plain = one_source(model, limits, DecodingOptions(beam_size=3, length_penalty=0.0))
    normalised = one_source(model, limits, DecodingOptions(beam_size=3, length_penalty=1.0))

    assert plain[0].ids == ()
    assert plain[0].score == pytest.approx(math.log(0.4))
    assert normalised[0].ids == (2, 3)
    assert normalised[0].score == pytest.approx(math.log(0.36) / 3)


def test_cut_hypotheses_only_fill_up_even_if_they_score_better() -> None:
    model = TableModel(4, {(0, ()): {2: 0.7, 3: 0.2, EOS: 0.1}})
    options = DecodingOptions(beam_size=3, num_hypotheses=2, length_penalty=0.0)

    hypotheses = one_source(model, SourceLimits(max_tokens=1, min_tokens=0), options)

    assert [(one.ids, one.finish_reason) for one in hypotheses] == [
        ((), FinishReason.STOP),
        ((2,), FinishReason.LENGTH),
    ]


def test_an_end_of_sentence_out_of_the_beam_is_no_hypothesis() -> None:
    model = TableModel(4, {(0, ()): {2: 0.5, 3: 0.4, EOS: 0.1}})
    options = DecodingOptions(beam_size=2, num_hypotheses=2, length_penalty=0.0)

    hypotheses = one_source(model, SourceLimits(max_tokens=2, min_tokens=0), options)

    assert [one.ids for one in hypotheses] == [(2,), (3,)]


def test_impossible_hypotheses_are_not_returned_beside_possible_ones() -> None:
    options = DecodingOptions(beam_size=4, num_hypotheses=4)

    hypotheses = one_source(sentences(9, [(5, 6)]), SourceLimits(max_tokens=5, min_tokens=0), options)

    assert hypotheses == [Hypothesis((5, 6), 0.0, 3, 0.0, FinishReason.STOP)]


def test_a_source_with_nothing_possible_still_has_a_result() -> None:
    options = DecodingOptions(beam_size=4, num_hypotheses=4)

    (hypothesis,) = one_source(sentences(9, [()]), SourceLimits(max_tokens=3, min_tokens=3), options)

    assert (hypothesis.logprob, hypothesis.num_tokens) == (-math.inf, 3)
    assert hypothesis.finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize(("vocab_size", "num_best"), [(3, 3), (5, 5), (6, 5)])
def test_one_candidate_more_than_the_beam_is_asked_for_if_there_is_one(
    vocab_size: int, num_best: int
) -> None:
    stepper = FakeStepper(RandomModel(vocab_size, seed=3), [0], 4)

    search_by_beam(stepper, [SourceLimits(3, 0)], DecodingOptions(beam_size=4))

    assert set(stepper.num_best) == {num_best}


def test_no_row_moves_after_the_first_step() -> None:
    """All rows have read the same then, whichever hypothesis they go on with."""
    stepper = FakeStepper(RandomModel(50, seed=4), [0, 1], 4)

    search_by_beam(stepper, [SourceLimits(2, 1)] * 2, DecodingOptions(beam_size=4))

    assert stepper.num_rows == [8, 8]
    assert stepper.selected == [[]], "only at the end, when both leave"


@given(
    st.integers(1, 6).flatmap(
        lambda beam_size: st.lists(
            st.lists(st.integers(0, beam_size - 1), min_size=beam_size, max_size=beam_size), min_size=1
        )
    )
)
def test_one_child_of_every_parent_stays_in_its_place(parents: list[list[int]]) -> None:
    places = inherit(np.array(parents, np.int64))

    for group, children in zip(parents, places.tolist(), strict=True):
        assert sorted(children) == list(range(len(group)))
        staying = [place for place, parent in zip(children, group, strict=True) if place == parent]
        assert sorted(staying) == sorted(set(group))
