"""Greedy search, against plain Python and against a beam of 1."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import Beam
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.loop import make_strategy, search
from dragoman.decoding.options import DecodingOptions
from dragoman.decoding.strategy import Source, SourceLimits, Strategy, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis
from tests.decoding import reference_search
from tests.decoding.fake_stepper import BOS, EOS, FakeStepper, RandomModel, random_models, sentences

source_limits = st.integers(1, 8).flatmap(
    lambda max_tokens: st.builds(SourceLimits, st.just(max_tokens), st.integers(0, max_tokens))
)


def search_greedily(stepper: FakeStepper, limits: list[SourceLimits], alpha: float = 1.0) -> list[Hypothesis]:
    options = DecodingOptions(beam_size=1, length_penalty=alpha)
    results = search(stepper, make_strategy(limits, options, BOS, EOS, stepper.model.vocab_size))
    assert all(len(hypotheses) == 1 for hypotheses in results)
    return [hypotheses[0] for hypotheses in results]


@given(random_models(), st.lists(source_limits, max_size=6), st.sampled_from([0.0, 0.6, 1.0, 2.0]))
@settings(deadline=None)
def test_greedy_takes_the_best_token_at_each_step(
    model: RandomModel, limits: list[SourceLimits], alpha: float
) -> None:
    stepper = FakeStepper(model, range(len(limits)))

    actual = search_greedily(stepper, limits, alpha)

    for source, hypothesis in enumerate(actual):
        expected = reference_search.greedy(model, source, limits[source], alpha)
        assert hypothesis.ids == expected.ids
        assert hypothesis.finish_reason == expected.finish_reason
        assert hypothesis.score == pytest.approx(expected.score, abs=1e-6)
        assert hypothesis.num_tokens == len(expected.ids) + (expected.finish_reason is FinishReason.STOP)


@given(random_models(max_impossible=0), st.lists(source_limits, min_size=1, max_size=6))
@settings(deadline=None)
def test_a_beam_of_1_equals_greedy(model: RandomModel, limits: list[SourceLimits]) -> None:
    sources = range(len(limits))
    target = TargetVocabulary(BOS, EOS, model.vocab_size)
    results = []
    for strategy in (Greedy(target), Beam(1, target)):
        strategy.join([Source((), limit) for limit in limits])
        results.append(search(FakeStepper(model, sources), strategy))

    assert results[0] == results[1]


def test_the_end_of_sentence_at_the_last_position_is_a_stop() -> None:
    stepper = FakeStepper(sentences(4, [(2, 3)]), [0])

    (hypothesis,) = search_greedily(stepper, [SourceLimits(max_tokens=3, min_tokens=0)])

    assert hypothesis == Hypothesis((2, 3), 0.0, 3, 0.0, FinishReason.STOP)


def test_a_sentence_without_room_for_its_end_is_cut_by_length() -> None:
    stepper = FakeStepper(sentences(4, [(2, 3)]), [0])

    (hypothesis,) = search_greedily(stepper, [SourceLimits(max_tokens=2, min_tokens=0)])

    assert hypothesis == Hypothesis((2, 3), 0.0, 2, 0.0, FinishReason.LENGTH)


@pytest.mark.parametrize(("min_tokens", "num_best"), [((0, 0), [1, 1, 1, 1]), ((0, 2), [2, 2, 1, 1])])
def test_a_runner_up_is_asked_for_only_while_an_end_may_come_too_early(
    min_tokens: tuple[int, int], num_best: list[int]
) -> None:
    stepper = FakeStepper(sentences(5, [(2, 2, 2), (2, 2, 2)]), [0, 1])

    search_greedily(stepper, [SourceLimits(4, least) for least in min_tokens])

    assert stepper.num_best == num_best


def test_beam_size_decides_the_strategy() -> None:
    def strategy(beam_size: int) -> Strategy:
        return make_strategy([SourceLimits(4, 0)], DecodingOptions(beam_size=beam_size), BOS, EOS, 5)

    assert isinstance(strategy(1), Greedy)
    assert isinstance(strategy(2), Beam)
