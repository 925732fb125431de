"""The loop, with all strategies: sources that come and go, faults; greedy and beam search by hand."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.decoding.beam import assign_rows_to_children
from dragoman.decoding.loop import AnyLane, open_strategy
from dragoman.decoding.options import Sampling
from dragoman.decoding.slots import close_gaps
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.errors import InputError
from dragoman.types import Method, SearchKind
from tests.engine.decoding import reference_search
from tests.engine.decoding.fake_lanes import (
    KINDS,
    check_any_company,
    check_fault,
    join,
    lane_over,
    run_to_end,
    search_with,
)
from tests.engine.decoding.fake_stepper import (
    BOS,
    EOS,
    FakeStepper,
    Prefix,
    RandomModel,
    random_models,
    sentences,
    wide_models,
)
from tests.engine.decoding.random_sources import beams, filtered_sources, samplings


@pytest.mark.parametrize("beam_size", [1, 2])
def test_finished_sources_leave_at_once_and_the_last_ones_fill_their_holes(beam_size: int) -> None:
    targets: list[Prefix] = [(), (2, 2, 2), (), (3, 3), (4, 4)]
    stepper = FakeStepper(sentences(5, targets), range(5), beam_size)

    results = search_with(stepper, [Source((), TargetLimits(9, 0), (BOS,)) for _ in targets])

    assert [hypotheses[0].ids for hypotheses in results] == targets
    assert stepper.num_rows == [beam_size * count for count in (5, 3, 3, 1)]
    groups = [[row // beam_size for row in rows[::beam_size]] for rows in stepper.selected]
    leaving = [group for group in groups if group != [0, 1, 2]]
    assert leaving == [[3, 1, 4], [1], []]


@given(st.lists(st.booleans()))
def test_only_sources_from_the_end_change_their_slot(is_leaving: list[bool]) -> None:
    slots = close_gaps(np.array(is_leaving, np.bool_)).tolist()

    staying = [slot for slot, leaves in enumerate(is_leaving) if not leaves]
    assert sorted(slots) == staying
    for new, old in enumerate(slots):
        assert old == new or (is_leaving[new] and old >= len(slots))


@pytest.mark.parametrize("beam_size", [1, 4])
def test_nothing_to_search_for_takes_no_step(beam_size: int) -> None:
    stepper = FakeStepper(RandomModel(9, seed=0), [], beam_size)

    assert search_with(stepper, []) == []
    assert stepper.num_rows == []


@pytest.mark.parametrize("beam_size", [1, 4])
def test_logprobs_that_are_not_numbers_end_the_search(beam_size: int) -> None:
    stepper = FakeStepper(RandomModel(9, seed=0), [0], beam_size)
    stepper.faulty = (0, 2)

    with pytest.raises(FloatingPointError, match="NaN"):
        search_with(stepper, [Source((), TargetLimits(9, 9), (BOS,))])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: TargetLimits(0, 0), "max_length: 0 is not at least 1"),
        (lambda: TargetLimits(4, 5), "min_length: 5 is not between 0 and 4"),
        (lambda: TargetLimits(4, -1), "min_length: -1 is not between 0 and 4"),
        (
            lambda: Source((), TargetLimits(2, 0), (BOS, 5, 6)),
            "max_length: 2 is too small: this model forces the first 2 target tokens; use at least 3",
        ),
        (
            lambda: Source((), TargetLimits(3, 0), (BOS, 3), prefix=(4, 5)),
            "target_prefix: 2 tokens are too many for a target of at most 2; shorten the prefix, or increase",
        ),
        (
            lambda: Source((), TargetLimits(3, 0), (BOS, 8), target_ids=(5, 6, 7)),
            "target: 3 tokens are over the limit of 2",
        ),
    ],
)
def test_unsatisfiable_options_are_rejected_by_their_field(make: Callable[[], object], error: str) -> None:
    with pytest.raises(InputError, match=f"^{error}"):
        make()


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: Source((), TargetLimits(9, 0), (BOS,), prefix=(5,), target_ids=(6,)), "do not begin with"),
        (lambda: Source((), TargetLimits(2, 0), ()), "at least"),
        (lambda: TargetVocabulary(EOS, size=1), "vocabulary of size 1"),
    ],
)
def test_impossible_searches_are_value_errors(make: Callable[[], object], error: str) -> None:
    with pytest.raises(ValueError, match=error):
        make()


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("min_tokens", [0, 3])
def test_the_steppers_candidates_are_not_written_to_where_tokens_are_forced_or_ends_come_early(
    beam_size: int, min_tokens: int
) -> None:
    strategy = open_strategy(beam_size, TargetVocabulary(EOS, 9))
    limits = TargetLimits(9, min_tokens)
    strategy.join([Source((), limits, (BOS, 5)), Source((), limits, (BOS,))])
    shape = (2 * beam_size, strategy.num_best)
    logprobs, ids = np.full(shape, -1.0, np.float32), np.full(shape, EOS)
    logprobs.flags.writeable = ids.flags.writeable = False

    strategy.advance(logprobs, ids)

    assert (logprobs == -1.0).all()


GOOD = Source((), TargetLimits(9, 0), (EOS, 2), sampling=Sampling())


@pytest.mark.parametrize(
    ("kind", "bad", "problem"),
    [
        *((kind, replace(GOOD, begin=(BOS, EOS)), "contain the end-of-sentence id") for kind in KINDS),
        *((kind, replace(GOOD, prefix=(2, EOS)), "contain the end-of-sentence id") for kind in KINDS),
        (KINDS[-1], replace(GOOD, sampling=None), "requires sampling options"),
    ],
    ids=str,
)
def test_a_forced_end_of_sentence_or_no_way_to_draw_is_rejected_before_anything_joins(
    kind: SearchKind, bad: Source, problem: str
) -> None:
    strategy = open_strategy(kind, TargetVocabulary(EOS, 9))

    with pytest.raises(ValueError, match=problem):
        strategy.join([GOOD, bad])

    assert list(strategy.sources) == []
    assert len(strategy.last_ids) == 0


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
