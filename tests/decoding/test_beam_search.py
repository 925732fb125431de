"""Greedy and beam search, against plain Python and small examples worked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import Beam, assign_rows_to_children
from dragoman.decoding.greedy import Greedy
from dragoman.decoding.loop import search
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis
from tests.decoding import reference_search
from tests.decoding.fake_lanes import search_with
from tests.decoding.fake_stepper import (
    BOS,
    EOS,
    FakeStepper,
    Prefix,
    RandomModel,
    TableModel,
    random_models,
    sentences,
)
from tests.decoding.random_sources import beams
from tests.decoding.random_sources import sources as random_sources


def one_source(model: TableModel, beam_size: int, source: Source) -> list[Hypothesis]:
    (hypotheses,) = search_with(FakeStepper(model, [0], beam_size), [source])
    return hypotheses


def source_of(
    max_tokens: int,
    *,
    min_tokens: int = 0,
    begin: Prefix = (BOS,),
    length_penalty: float = 1.0,
    num_hypotheses: int = 1,
) -> Source:
    return Source((), TargetLimits(max_tokens, min_tokens), begin, length_penalty, num_hypotheses)


@given(random_models(), beams(min_size=1))
@settings(max_examples=300)
def test_greedy_and_beam_search_equal_the_same_in_plain_python_and_count_only_their_own_tokens(
    model: RandomModel, beam: tuple[int, list[Source]]
) -> None:
    beam_size, sources = beam
    stepper = FakeStepper(model, range(len(sources)), beam_size)

    results = search_with(stepper, sources)

    num_steps = []
    for number, (source, hypotheses) in enumerate(zip(sources, results, strict=True)):
        reference_search.check_equal(hypotheses, reference_search.best(model, number, source, beam_size))
        reference_search.check_documented(model, number, source, hypotheses)
        assert len({(one.ids, one.finish_reason) for one in hypotheses}) == len(hypotheses)
        if beam_size > 1:
            num_steps.append(reference_search.beam(model, number, source, beam_size)[1])
        else:
            num_steps.append(hypotheses[0].num_tokens)
    assert stepper.num_rows == [
        beam_size * sum(steps > step for steps in num_steps) for step in range(max(num_steps))
    ]


STOP, LENGTH = FinishReason.STOP, FinishReason.LENGTH


@pytest.mark.parametrize(
    ("chances", "beam_size", "source", "expected"),
    [
        pytest.param(
            {2: 0.7, 3: 0.2, EOS: 0.1},
            3,
            source_of(1, length_penalty=0.0, num_hypotheses=3),
            [((2,), LENGTH), ((3,), LENGTH), ((), STOP)],
            id="a cut hypothesis is better than an ended one if it scores better",
        ),
        pytest.param(
            {2: 0.5, EOS: 0.3, 3: 0.2},
            2,
            source_of(1, num_hypotheses=2),
            [((2,), LENGTH), ((), STOP)],
            id="what the limit cuts out of the beam is none: the end takes one of the two places",
        ),
        pytest.param(
            {2: 0.5, EOS: 0.3, 3: 0.2},
            2,
            source_of(1, min_tokens=1, num_hypotheses=2),
            [((2,), LENGTH), ((3,), LENGTH)],
            id="an end that comes too early takes no place from what the limit cuts",
        ),
        pytest.param(
            {2: 0.5, 3: 0.4, EOS: 0.1},
            2,
            source_of(2, length_penalty=0.0, num_hypotheses=2),
            [((2,), STOP), ((3,), STOP)],
            id="an end of sentence out of the beam is none",
        ),
    ],
)
def test_the_hypotheses_after_the_first_step(
    chances: dict[int, float], beam_size: int, source: Source, expected: list[tuple[Prefix, FinishReason]]
) -> None:
    hypotheses = one_source(TableModel(4, {(0, ()): chances}), beam_size, source)

    assert [(one.ids, one.finish_reason) for one in hypotheses] == expected


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

    search_with(stepper, [source_of(3)])

    assert set(stepper.num_best) == {num_best}


@pytest.mark.parametrize("begin", [(BOS,), (BOS, 5), (EOS, 5, 6)])
def test_no_row_moves_while_all_of_a_source_have_read_the_same(begin: Prefix) -> None:
    """Whichever hypothesis they go on with: up to the first step after the forced tokens."""
    stepper = FakeStepper(RandomModel(50, seed=4), [0, 1], 4)
    num_tokens = len(begin) + 1

    search_with(stepper, [source_of(num_tokens, min_tokens=num_tokens - 1, begin=begin)] * 2)

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


@given(random_models(max_impossible=0), st.lists(random_sources(beam_size=1), min_size=1, max_size=6))
def test_a_beam_of_1_equals_greedy(model: RandomModel, sources: list[Source]) -> None:
    target = TargetVocabulary(EOS, model.vocab_size)
    results = []
    for strategy in (Greedy(target), Beam(1, target)):
        strategy.join(sources)
        results.append(search(FakeStepper(model, range(len(sources))), strategy))

    assert results[0] == results[1]


@pytest.mark.parametrize(("max_tokens", "reason"), [(3, FinishReason.STOP), (2, FinishReason.LENGTH)])
def test_a_sentence_is_cut_by_length_where_there_is_no_room_for_its_end(
    max_tokens: int, reason: FinishReason
) -> None:
    stepper = FakeStepper(sentences(4, [(2, 3)]), [0])

    ((hypothesis,),) = search_with(stepper, [source_of(max_tokens)])

    assert hypothesis == Hypothesis((2, 3), 0.0, max_tokens, 0.0, reason)


@pytest.mark.parametrize(("min_tokens", "num_best"), [((0, 0), [1, 1, 1, 1]), ((0, 2), [2, 2, 1, 1])])
def test_a_runner_up_is_asked_for_only_while_an_end_may_come_too_early(
    min_tokens: tuple[int, int], num_best: list[int]
) -> None:
    stepper = FakeStepper(sentences(5, [(2, 2, 2), (2, 2, 2)]), [0, 1])

    search_with(stepper, [source_of(4, min_tokens=least) for least in min_tokens])

    assert stepper.num_best == num_best
