"""Greedy and beam search, against plain Python and small examples worked by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import assign_rows_to_children
from dragoman.decoding.strategy import Source, TargetLimits
from tests.engine.decoding import reference_search
from tests.engine.decoding.fake_lanes import search_with
from tests.engine.decoding.fake_stepper import (
    BOS,
    EOS,
    FakeStepper,
    Prefix,
    RandomModel,
    random_models,
    sentences,
)
from tests.engine.decoding.random_sources import beams


def source_of(max_tokens: int, *, min_tokens: int = 0, begin: Prefix = (BOS,)) -> Source:
    return Source((), TargetLimits(max_tokens, min_tokens), begin)


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


@pytest.mark.parametrize(("vocab_size", "num_best"), [(3, 3), (5, 5), (6, 5)])
def test_one_candidate_more_than_the_beam_is_requested_if_there_is_one(
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


@pytest.mark.parametrize(("min_tokens", "num_best"), [((0, 0), [1, 1, 1, 1]), ((0, 2), [2, 2, 1, 1])])
def test_a_runner_up_is_requested_only_while_an_end_may_come_too_early(
    min_tokens: tuple[int, int], num_best: list[int]
) -> None:
    stepper = FakeStepper(sentences(5, [(2, 2, 2), (2, 2, 2)]), [0, 1])

    search_with(stepper, [source_of(4, min_tokens=least) for least in min_tokens])

    assert stepper.num_best == num_best
