"""Sources that come and go: what is found for one depends neither on company nor on when it joined."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.decoding.loop import FinishedSource, Lane, open_strategy
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.types import SearchKind
from tests.decoding.fake_stepper import BOS, EOS, FakeStepper, Prefix, RandomModel, random_models, sentences
from tests.decoding.random_sources import sources as random_sources

arrivals = st.lists(st.integers(0, 6), min_size=1, max_size=9)
"""Steps before each source joins, counted from the one before it."""


def source_of(number: int, beam_size: int) -> Source:
    """Whatever a source may bring along differs between sources."""
    begin = ((BOS,), (BOS, 2), (EOS, 5, 3), (2,), (BOS, 4, 4, 4))[number % 5]
    prefix = ((), (6, 2), (3,))[number % 3]
    return Source(
        ids=(number,),
        limits=TargetLimits(max_tokens=len(begin) + len(prefix) + 1 + number % 7, min_tokens=number % 3),
        begin=begin,
        length_penalty=(0.0, 0.6, 1.0, 2.0)[number % 4],
        num_hypotheses=1 + number % beam_size,
        early_stopping=number % 2 == 0,
        prefix=prefix,
    )


def plain_source(number: int) -> Source:
    return Source((number,), TargetLimits(9, 0), (BOS,))


def lane_over(stepper: FakeStepper) -> Lane[list[int]]:
    return Lane(
        SearchKind(stepper.beam_size),
        stepper,
        open_strategy(stepper.beam_size, TargetVocabulary(EOS, stepper.model.vocab_size)),
    )


def join(lane: Lane[list[int]], sources: list[Source]) -> None:
    lane.join(sources, [source.ids[0] for source in sources])


def search_alone(model: RandomModel, source: Source, beam_size: int) -> list[FinishedSource]:
    lane = lane_over(FakeStepper(model, [], beam_size))
    join(lane, [source])
    return run_to_end(lane)


def run_to_end(lane: Lane[list[int]]) -> list[FinishedSource]:
    found: list[FinishedSource] = []
    while lane.sources:
        found += lane.step()
    return found


def search_as_they_arrive(
    lane: Lane[list[int]], sources: list[Source], delays: list[int], num_dropped: int = 0
) -> list[FinishedSource]:
    """Step `delays[i]` times before source i joins; those that come in one step join together."""
    found: list[FinishedSource] = []
    together: list[Source] = []
    for source, delay in zip(sources, delays, strict=True):
        if delay and together:
            join(lane, together)
            together = []
        for _ in range(delay):
            if lane.sources:
                found += lane.step()
        together.append(source)
    join(lane, together)
    lane.remove(set(sources[:num_dropped]))
    return found + run_to_end(lane)


@given(random_models(min_vocab=3), arrivals, st.sampled_from([1, 2, 3, 5]))
@settings(max_examples=200)
def test_a_source_gets_the_same_hypotheses_whenever_it_joins(
    model: RandomModel, delays: list[int], beam_size: int
) -> None:
    sources = [source_of(number, beam_size) for number in range(len(delays))]
    lane = lane_over(FakeStepper(model, [], beam_size))

    found = search_as_they_arrive(lane, sources, delays)

    assert {id(one.source) for one in found} == {id(source) for source in sources}
    for one in found:
        assert [one] == search_alone(model, one.source, beam_size)


@given(random_models(min_vocab=3), arrivals, st.sampled_from([1, 2, 4]), st.integers(0, 9))
def test_sources_that_are_dropped_leave_the_others_as_they_were(
    model: RandomModel, delays: list[int], beam_size: int, num_dropped: int
) -> None:
    sources = [source_of(number, beam_size) for number in range(len(delays))]
    lane = lane_over(FakeStepper(model, [], beam_size))

    found = search_as_they_arrive(lane, sources, delays, num_dropped)

    assert {id(one.source) for one in found} >= {id(source) for source in sources[num_dropped:]}
    for one in found:
        assert [one] == search_alone(model, one.source, beam_size)


@st.composite
def company(draw: st.DrawFn) -> tuple[int, list[Source], list[int]]:
    """A beam size, sources, and the order they join in."""
    beam_size = draw(st.sampled_from([1, 2, 4]))
    sources = draw(st.lists(random_sources(beam_size), min_size=1, max_size=7))
    numbered = [replace(source, ids=(number,)) for number, source in enumerate(sources)]
    return beam_size, numbered, draw(st.permutations(range(len(sources))))


@given(random_models(min_vocab=3), company(), st.data())
@settings(max_examples=200)
def test_forced_tokens_and_early_stopping_of_one_source_are_nothing_to_another(
    model: RandomModel, together: tuple[int, list[Source], list[int]], data: st.DataObject
) -> None:
    beam_size, sources, order = together
    delays = data.draw(st.lists(st.integers(0, 4), min_size=len(order), max_size=len(order)))
    lane = lane_over(FakeStepper(model, [], beam_size))

    found = search_as_they_arrive(lane, [sources[number] for number in order], delays)

    assert {id(one.source) for one in found} == {id(source) for source in sources}
    for one in found:
        assert [one] == search_alone(model, one.source, beam_size)


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
def test_a_beginning_is_what_the_best_hypothesis_says_so_far(beam_size: int) -> None:
    lane = lane_over(FakeStepper(sentences(6, [(2, 3, 4), (5,)]), [], beam_size))
    join(lane, [plain_source(number) for number in range(2)])

    beginnings = []
    for _ in range(3):
        lane.step()
        beginnings.append(lane.best_ids(0))

    assert beginnings == [[2], [2, 3], [2, 3, 4]]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_beginning_has_no_forced_tokens(beam_size: int) -> None:
    lane = lane_over(FakeStepper(sentences(9, [(7, 8, 2, 3, 4), (5,)]), [], beam_size))
    join(lane, [Source((0,), TargetLimits(9, 0), (BOS, 7, 8)), plain_source(1)])

    beginnings = []
    for _ in range(5):
        lane.step()
        beginnings.append(lane.best_ids(0))

    assert beginnings == [[], [], [2], [2, 3], [2, 3, 4]]


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_beginning_has_the_prefix(beam_size: int) -> None:
    lane = lane_over(FakeStepper(sentences(9, [(7, 8, 2, 3, 4)]), [], beam_size))
    join(lane, [Source((0,), TargetLimits(9, 0), (BOS, 7), prefix=(8, 2))])

    beginnings = []
    for _ in range(5):
        lane.step()
        beginnings.append(lane.best_ids(0))

    assert beginnings == [[], [8], [8, 2], [8, 2, 3], [8, 2, 3, 4]]


class NaNForOne(FakeStepper):
    """Returns NaN for one source, once its rows have read two tokens."""

    faulty = 1

    def step(
        self, last_ids: NDArray[np.int64], num_best: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        logprobs, ids = super().step(last_ids, num_best)
        for row, (source, prefix) in enumerate(self.rows):
            if source == self.faulty and len(prefix or ()) == 2:
                logprobs[row, -1] = np.nan
        return logprobs, ids


@pytest.mark.parametrize("beam_size", [1, 3])
def test_candidates_that_are_not_numbers_fail_only_the_source_they_are_for(beam_size: int) -> None:
    model = RandomModel(9, seed=5)
    sources = [Source((number,), TargetLimits(7, 6), (BOS,)) for number in range(4)]
    lane = lane_over(NaNForOne(model, [], beam_size))
    join(lane, sources)

    found = {one.source: one for one in run_to_end(lane)}

    for source in sources:
        if source.ids[0] == NaNForOne.faulty:
            assert isinstance(found[source].error, FloatingPointError)
            assert found[source].hypotheses == []
        else:
            assert [found[source]] == search_alone(model, source, beam_size)
