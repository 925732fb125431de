"""Greedy search, against plain Python and against a beam of 1."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import Beam
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.loop import make_strategy, search
from dragoman.decoding.strategy import Source, Strategy, TargetLimits, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis
from tests.decoding import reference_search
from tests.decoding.fake_stepper import BOS, EOS, FakeStepper, RandomModel, random_models, sentences
from tests.decoding.random_sources import sources as random_sources


def search_greedily(stepper: FakeStepper, sources: list[Source]) -> list[Hypothesis]:
    strategy = make_strategy(sources, 1, TargetVocabulary(EOS, stepper.model.vocab_size))
    results = search(stepper, strategy)
    assert all(len(hypotheses) == 1 for hypotheses in results)
    return [hypotheses[0] for hypotheses in results]


@given(random_models(), st.lists(random_sources(beam_size=1), max_size=6))
@settings(max_examples=300)
def test_greedy_takes_the_best_token_at_each_step(model: RandomModel, sources: list[Source]) -> None:
    stepper = FakeStepper(model, range(len(sources)))

    actual = search_greedily(stepper, sources)

    for number, (source, hypothesis) in enumerate(zip(sources, actual, strict=True)):
        expected = reference_search.greedy(model, number, source)
        num_forced, num_ends = len(source.begin) - 1, expected.finish_reason is FinishReason.STOP
        assert hypothesis.ids == expected.ids
        assert hypothesis.finish_reason == expected.finish_reason
        assert hypothesis.score == pytest.approx(expected.score, abs=1e-6)
        assert hypothesis.num_tokens == num_forced + len(expected.ids) + num_ends


@given(random_models(max_impossible=0), st.lists(random_sources(beam_size=1), min_size=1, max_size=6))
def test_a_beam_of_1_equals_greedy(model: RandomModel, sources: list[Source]) -> None:
    target = TargetVocabulary(EOS, model.vocab_size)
    results = []
    for strategy in (Greedy(target), Beam(1, target)):
        strategy.join(sources)
        results.append(search(FakeStepper(model, range(len(sources))), strategy))

    assert results[0] == results[1]


def test_the_end_of_sentence_at_the_last_position_is_a_stop() -> None:
    stepper = FakeStepper(sentences(4, [(2, 3)]), [0])

    (hypothesis,) = search_greedily(stepper, [Source((), TargetLimits(max_tokens=3, min_tokens=0), (BOS,))])

    assert hypothesis == Hypothesis((2, 3), 0.0, 3, 0.0, FinishReason.STOP)


def test_a_sentence_without_room_for_its_end_is_cut_by_length() -> None:
    stepper = FakeStepper(sentences(4, [(2, 3)]), [0])

    (hypothesis,) = search_greedily(stepper, [Source((), TargetLimits(max_tokens=2, min_tokens=0), (BOS,))])

    assert hypothesis == Hypothesis((2, 3), 0.0, 2, 0.0, FinishReason.LENGTH)


@pytest.mark.parametrize(("min_tokens", "num_best"), [((0, 0), [1, 1, 1, 1]), ((0, 2), [2, 2, 1, 1])])
def test_a_runner_up_is_asked_for_only_while_an_end_may_come_too_early(
    min_tokens: tuple[int, int], num_best: list[int]
) -> None:
    stepper = FakeStepper(sentences(5, [(2, 2, 2), (2, 2, 2)]), [0, 1])

    search_greedily(stepper, [Source((), TargetLimits(4, least), (BOS,)) for least in min_tokens])

    assert stepper.num_best == num_best


def test_beam_size_decides_the_strategy() -> None:
    def strategy(beam_size: int) -> Strategy:
        return make_strategy([], beam_size, TargetVocabulary(EOS, 5))

    assert isinstance(strategy(1), Greedy)
    assert isinstance(strategy(2), Beam)
