"""Sources that come and go: what is found for one depends neither on company nor on when it joined."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.loop import AnyLane
from dragoman.decoding.strategy import Source, TargetLimits
from dragoman.types import Method, SearchKind
from tests.decoding.fake_lanes import KINDS, check_any_company, check_fault, join, lane_over, run_to_end
from tests.decoding.fake_stepper import (
    BOS,
    FakeStepper,
    Prefix,
    RandomModel,
    random_models,
    sentences,
    wide_models,
)
from tests.decoding.random_sources import filtered_sources, samplings


def plain_source(number: int) -> Source:
    return Source((number,), TargetLimits(9, 0), (BOS,))


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(
    delays=st.lists(st.integers(0, 6), min_size=1, max_size=9), num_dropped=st.integers(0, 3), data=st.data()
)
@settings(max_examples=40)
def test_a_source_gets_the_same_hypotheses_in_any_company(
    kind: SearchKind, delays: list[int], num_dropped: int, data: st.DataObject
) -> None:
    """Whatever the others' forced tokens, limits, penalties and draws are, and whenever they come and go."""
    model = data.draw(random_models(min_vocab=3) if kind.method is Method.SEARCH else wide_models)
    sources = [
        replace(
            data.draw(filtered_sources(kind.beam_size)),
            ids=(number,),
            sampling=data.draw(samplings),
            seed=data.draw(st.integers(0, 2)),
        )
        for number in range(len(delays))
    ]

    def open_empty() -> AnyLane[list[int]]:
        return lane_over(FakeStepper(model, [], kind.beam_size), kind.method)

    check_any_company(open_empty, sources, delays, num_dropped)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_dropped_source_takes_no_step_more(beam_size: int) -> None:
    stepper = FakeStepper(sentences(5, [(2, 2, 2), (3, 3, 3)]), [], beam_size)
    lane = lane_over(stepper)
    sources = [plain_source(number) for number in range(2)]
    join(lane, sources)

    lane.step()
    lane.remove({sources[0]})
    found = run_to_end(lane)

    assert [one.source for one in found] == [sources[1]]
    assert found[0].hypotheses[0].ids == (3, 3, 3)
    assert stepper.num_rows[:2] == [2 * beam_size, beam_size]


@pytest.mark.parametrize("beam_size", [1, 2])
def test_rows_of_an_early_and_a_late_source_run_in_one_step(beam_size: int) -> None:
    targets: list[Prefix] = [(2, 2, 2, 2), (3, 3)]
    stepper = FakeStepper(sentences(5, targets), [], beam_size)
    lane = lane_over(stepper)
    early, late = (plain_source(number) for number in range(2))

    join(lane, [early])
    found = lane.step() + lane.step()
    join(lane, [late])
    found += run_to_end(lane)

    assert [one.hypotheses[0].ids for one in found if one.source is early] == [targets[0]]
    assert [one.hypotheses[0].ids for one in found if one.source is late] == [targets[1]]
    assert stepper.num_rows == [beam_size * count for count in (1, 1, 2, 2, 2)]


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize(
    ("begin", "prefix", "beginnings"),
    [
        ((BOS,), (), [[7], [7, 8], [7, 8, 2], [7, 8, 2, 3]]),
        ((BOS, 7, 8), (), [[], [], [2], [2, 3]]),
        ((BOS, 7), (8, 2), [[], [8], [8, 2], [8, 2, 3]]),
    ],
    ids=["plain", "without forced tokens", "with the prefix"],
)
def test_a_partial_target_is_that_of_the_best_hypothesis(
    begin: Prefix, prefix: Prefix, beginnings: list[list[int]], beam_size: int
) -> None:
    lane = lane_over(FakeStepper(sentences(9, [(7, 8, 2, 3, 4), (5,)]), [], beam_size))
    join(lane, [Source((0,), TargetLimits(9, 0), begin, prefix=prefix), plain_source(1)])

    for beginning in beginnings:
        lane.step()
        assert lane.best_ids(0) == beginning


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("method", [Method.SEARCH, Method.FILTERED])
def test_candidates_that_are_not_numbers_fail_only_the_source_they_are_for(
    method: Method, beam_size: int
) -> None:
    """Also if it alone had filters: greedy search looks at the last candidate, so it must get no more."""
    model = RandomModel(40, seed=6)
    sources = [
        Source((number,), TargetLimits(12, 11), (BOS,), repetition_penalty=1.0 if number else 2.0)
        for number in range(6)
    ]
    stepper = FakeStepper(model, [], beam_size)
    stepper.faulty = (0, 3)

    check_fault(
        lambda: lane_over(FakeStepper(model, [], beam_size), method),
        lane_over(stepper, method),
        sources,
        sources[0],
    )
