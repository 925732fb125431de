"""Beam search, against plain Python, brute force and small examples worked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import assign_rows_to_children
from dragoman.decoding.loop import make_strategy, search
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis
from tests.decoding import reference_search
from tests.decoding.fake_stepper import (
    BOS,
    EOS,
    FakeStepper,
    Prefix,
    RandomModel,
    TableModel,
    opening,
    random_models,
    sentences,
)
from tests.decoding.random_sources import beams


def search_by_beam(stepper: FakeStepper, sources: list[Source]) -> list[list[Hypothesis]]:
    target = TargetVocabulary(EOS, stepper.model.vocab_size)
    return search(stepper, make_strategy(sources, stepper.beam_size, target))


def one_source(model: TableModel, beam_size: int, source: Source) -> list[Hypothesis]:
    (hypotheses,) = search_by_beam(FakeStepper(model, [0], beam_size), [source])
    return hypotheses


def source_of(
    max_tokens: int,
    *,
    min_tokens: int = 0,
    begin: Prefix = (BOS,),
    length_penalty: float = 1.0,
    num_hypotheses: int = 1,
    early_stopping: bool = False,
) -> Source:
    limits = TargetLimits(max_tokens, min_tokens)
    return Source((), limits, begin, length_penalty, num_hypotheses, early_stopping)


@given(random_models(), beams())
@settings(max_examples=400)
def test_beam_search_equals_the_same_in_plain_python(
    model: RandomModel, beam: tuple[int, list[Source]]
) -> None:
    beam_size, sources = beam
    stepper = FakeStepper(model, range(len(sources)), beam_size)

    results = search_by_beam(stepper, sources)

    num_steps = []
    for number, hypotheses in enumerate(results):
        expected, steps = reference_search.beam(model, number, sources[number], beam_size)
        num_steps.append(steps)
        if not expected:
            assert [hypothesis.logprob for hypothesis in hypotheses] == [-math.inf]
            continue
        assert [hypothesis.ids for hypothesis in hypotheses] == [found.ids for found in expected]
        assert [one.finish_reason for one in hypotheses] == [found.finish_reason for found in expected]
        assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected], abs=1e-6)
    assert stepper.num_rows == [
        beam_size * sum(steps > step for steps in num_steps) for step in range(max(num_steps))
    ]


@pytest.mark.parametrize("length_penalty", [0.0, 0.5, 1.0, 2.0])
@pytest.mark.parametrize(
    ("vocab_size", "max_tokens", "begin"), [(3, 4, (BOS,)), (5, 2, (EOS,)), (2, 6, (2, 5)), (32, 2, (BOS, 7))]
)
@pytest.mark.parametrize("min_tokens", [0, 1])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_beam_wide_enough_for_all_sequences_finds_the_best_of_all(
    vocab_size: int, max_tokens: int, begin: Prefix, min_tokens: int, seed: int, length_penalty: float
) -> None:
    model = RandomModel(vocab_size, seed)
    source = source_of(
        max_tokens,
        min_tokens=min_tokens,
        begin=begin,
        length_penalty=length_penalty,
        num_hypotheses=32,
    )

    (hypotheses,) = search_by_beam(FakeStepper(model, [7], 32), [source])

    expected = reference_search.exhaustive(model, 7, source)[:32]
    assert [hypothesis.ids for hypothesis in hypotheses] == [found.ids for found in expected]
    assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected], abs=1e-6)


@given(random_models(), beams())
def test_hypotheses_are_distinct_and_sorted_by_score(
    model: RandomModel, beam: tuple[int, list[Source]]
) -> None:
    beam_size, sources = beam
    results = search_by_beam(FakeStepper(model, range(len(sources)), beam_size), sources)

    for source, hypotheses in zip(sources, results, strict=True):
        scores = [one.score for one in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({(one.ids, one.finish_reason) for one in hypotheses}) == len(hypotheses)
        assert 1 <= len(hypotheses) <= source.num_hypotheses


@given(random_models(), beams())
def test_limits_hold_and_count_forced_tokens_and_the_end_of_sentence_as_documented(
    model: RandomModel, beam: tuple[int, list[Source]]
) -> None:
    beam_size, sources = beam
    results = search_by_beam(FakeStepper(model, range(len(sources)), beam_size), sources)

    for source, hypotheses in zip(sources, results, strict=True):
        num_forced = len(source.begin) - 1
        for hypothesis in hypotheses:
            num_ids = num_forced + len(hypothesis.ids)
            assert EOS not in hypothesis.ids
            assert source.limits.min_tokens <= num_ids
            if hypothesis.finish_reason is FinishReason.STOP:
                assert hypothesis.num_tokens == num_ids + 1 <= source.limits.max_tokens
            else:
                assert hypothesis.num_tokens == num_ids == source.limits.max_tokens


@given(random_models(), beams())
def test_a_logprob_is_the_sum_over_the_hypothesis_own_tokens_without_the_forced_ones(
    model: RandomModel, beam: tuple[int, list[Source]]
) -> None:
    beam_size, sources = beam
    results = search_by_beam(FakeStepper(model, range(len(sources)), beam_size), sources)

    for number, (source, hypotheses) in enumerate(zip(sources, results, strict=True)):
        read = opening(source.begin)
        for one in hypotheses:
            tokens = (*one.ids, EOS)[: one.num_tokens - len(source.begin) + 1]
            steps = [
                model.logprobs(number, (*read, *tokens[:nth]))[token]
                for nth, token in enumerate(tokens)
                if nth >= len(source.prefix)
            ]
            assert one.logprob == pytest.approx(float(np.sum(steps, dtype=np.float64)))
            assert one.score == pytest.approx(one.logprob / one.num_tokens**source.length_penalty)


def test_a_longer_sentence_wins_only_under_a_length_penalty() -> None:
    model = TableModel(4, {(0, ()): {2: 0.6, EOS: 0.4}, (0, (2,)): {3: 0.6, EOS: 0.4}})

    plain = one_source(model, 3, source_of(3, length_penalty=0.0))
    normalised = one_source(model, 3, source_of(3, length_penalty=1.0))

    assert plain[0].ids == ()
    assert plain[0].score == pytest.approx(math.log(0.4))
    assert normalised[0].ids == (2, 3)
    assert normalised[0].score == pytest.approx(math.log(0.36) / 3)


def test_a_forced_token_costs_nothing_but_counts_as_one() -> None:
    model = TableModel(9, {(0, (7,)): {2: 0.75, 3: 0.25}})

    (hypothesis,) = one_source(model, 2, source_of(9, begin=(BOS, 7)))

    logprob = float(np.log(np.float32(0.75)))
    assert hypothesis.logprob == pytest.approx(logprob)
    assert hypothesis.score == pytest.approx(logprob / 3)
    assert (hypothesis.ids, hypothesis.num_tokens) == ((2,), 3)


def test_with_early_stopping_a_search_is_done_when_the_beam_is_full_of_finished_hypotheses() -> None:
    """The second step has two: ids (2) by 0.6 * 0.6 and () by 0.4, and (2, 3) would score better yet."""
    model = TableModel(4, {(0, ()): {2: 0.6, EOS: 0.4}, (0, (2,)): {3: 0.4, EOS: 0.6}})
    early = FakeStepper(model, [0], 2)
    late = FakeStepper(model, [0], 2)

    (first,) = search_by_beam(early, [source_of(9, num_hypotheses=2, early_stopping=True)])
    (second,) = search_by_beam(late, [source_of(9, num_hypotheses=2)])

    assert [one.ids for one in first] == [(2,), ()]
    assert len(early.num_rows) == 2
    assert [one.ids for one in second] == [(2, 3), (2,)]
    assert len(late.num_rows) == 3


def test_all_that_end_in_the_step_that_fills_the_beam_compete() -> None:
    """One end at first; in the next step two more, the second of them better than the first of all."""
    model = TableModel(
        6,
        {
            (0, ()): {2: 0.5, EOS: 0.3, 3: 0.2},
            (0, (2,)): {EOS: 0.9, 4: 0.1},
            (0, (3,)): {EOS: 0.9, 4: 0.1},
        },
    )
    source = source_of(9, length_penalty=2.0, num_hypotheses=2, early_stopping=True)

    hypotheses = one_source(model, 2, source)

    assert [one.ids for one in hypotheses] == [(2,), (3,)]


def test_a_cut_hypothesis_is_better_than_an_ended_one_if_it_scores_better() -> None:
    model = TableModel(4, {(0, ()): {2: 0.7, 3: 0.2, EOS: 0.1}})

    hypotheses = one_source(model, 3, source_of(1, length_penalty=0.0, num_hypotheses=3))

    assert [(one.ids, one.finish_reason) for one in hypotheses] == [
        ((2,), FinishReason.LENGTH),
        ((3,), FinishReason.LENGTH),
        ((), FinishReason.STOP),
    ]


def test_what_the_limit_cuts_out_of_the_beam_is_no_hypothesis() -> None:
    """The end takes one of the two places, and of the two that go on only the better has the other."""
    model = TableModel(4, {(0, ()): {2: 0.5, EOS: 0.3, 3: 0.2}})

    hypotheses = one_source(model, 2, source_of(1, num_hypotheses=2))

    assert [one.ids for one in hypotheses] == [(2,), ()]


def test_an_end_that_comes_too_early_takes_no_place_from_what_the_limit_cuts() -> None:
    model = TableModel(4, {(0, ()): {2: 0.5, EOS: 0.3, 3: 0.2}})

    hypotheses = one_source(model, 2, source_of(1, min_tokens=1, num_hypotheses=2))

    assert [one.ids for one in hypotheses] == [(2,), (3,)]


def test_an_end_of_sentence_out_of_the_beam_is_no_hypothesis() -> None:
    model = TableModel(4, {(0, ()): {2: 0.5, 3: 0.4, EOS: 0.1}})

    hypotheses = one_source(model, 2, source_of(2, length_penalty=0.0, num_hypotheses=2))

    assert [one.ids for one in hypotheses] == [(2,), (3,)]


def test_impossible_hypotheses_are_not_returned_beside_possible_ones() -> None:
    hypotheses = one_source(sentences(9, [(5, 6)]), 4, source_of(5, num_hypotheses=4))

    assert hypotheses == [Hypothesis((5, 6), 0.0, 3, 0.0, FinishReason.STOP)]


def test_a_source_with_nothing_possible_still_has_a_result() -> None:
    source = source_of(4, min_tokens=4, begin=(BOS, 5), num_hypotheses=4)

    (hypothesis,) = one_source(sentences(9, [(5,)]), 4, source)

    assert (hypothesis.logprob, hypothesis.score, hypothesis.num_tokens) == (-math.inf, -math.inf, 4)
    assert len(hypothesis.ids) == 3
    assert hypothesis.finish_reason is FinishReason.LENGTH


@pytest.mark.parametrize(("vocab_size", "num_best"), [(3, 3), (5, 5), (6, 5)])
def test_one_candidate_more_than_the_beam_is_asked_for_if_there_is_one(
    vocab_size: int, num_best: int
) -> None:
    stepper = FakeStepper(RandomModel(vocab_size, seed=3), [0], 4)

    search_by_beam(stepper, [source_of(3)])

    assert set(stepper.num_best) == {num_best}


@pytest.mark.parametrize("begin", [(BOS,), (BOS, 5), (EOS, 5, 6)])
def test_no_row_moves_while_all_of_a_source_have_read_the_same(begin: Prefix) -> None:
    """Whichever hypothesis they go on with: up to the first step after the forced tokens."""
    stepper = FakeStepper(RandomModel(50, seed=4), [0, 1], 4)
    num_tokens = len(begin) + 1

    search_by_beam(stepper, [source_of(num_tokens, min_tokens=num_tokens - 1, begin=begin)] * 2)

    assert stepper.num_rows == [8] * num_tokens
    assert stepper.selected == [[]], "only at the end, when both leave"


@given(
    st.integers(1, 6).flatmap(
        lambda beam_size: st.lists(
            st.lists(st.integers(0, beam_size - 1), min_size=beam_size, max_size=beam_size), min_size=1
        )
    )
)
def test_one_child_of_every_parent_stays_in_its_place(parents: list[list[int]]) -> None:
    places = assign_rows_to_children(np.array(parents, np.int64))

    for group, children in zip(parents, places.tolist(), strict=True):
        assert sorted(children) == list(range(len(group)))
        staying = [place for place, parent in zip(children, group, strict=True) if place == parent]
        assert sorted(staying) == sorted(set(group))
