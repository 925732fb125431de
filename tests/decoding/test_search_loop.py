"""What holds for the loop and for both strategies: batches, leaving sources, faults."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.decoding.loop import make_strategy, search
from dragoman.decoding.slots import close_gaps
from dragoman.decoding.strategy import Source, Strategy, TargetLimits, TargetVocabulary
from dragoman.errors import InputError
from dragoman.types import Hypothesis
from tests.decoding.fake_stepper import BOS, EOS, FakeStepper, RandomModel, random_models, sentences


def limits_of(source: int) -> TargetLimits:
    """Limits that differ between sources."""
    return TargetLimits(max_tokens=2 + source % 6, min_tokens=source % 3)


def search_sources(model: RandomModel, numbers: list[int], beam_size: int) -> dict[int, list[Hypothesis]]:
    sources = [Source((), limits_of(number), (BOS,), num_hypotheses=beam_size) for number in numbers]
    strategy = make_strategy(sources, beam_size, TargetVocabulary(EOS, model.vocab_size))
    results = search(FakeStepper(model, numbers, beam_size), strategy)
    return dict(zip(numbers, results, strict=True))


def strategy_for(limits: list[TargetLimits], beam_size: int, vocab_size: int = 9) -> Strategy:
    sources = [Source((), limit, (BOS,)) for limit in limits]
    return make_strategy(sources, beam_size, TargetVocabulary(EOS, vocab_size))


@given(
    random_models(min_vocab=3),
    st.lists(st.integers(0, 50), unique=True, min_size=1, max_size=8),
    st.sampled_from([1, 2, 3, 5]),
)
def test_a_source_gets_the_same_hypotheses_alone_and_in_company(
    model: RandomModel, sources: list[int], beam_size: int
) -> None:
    together = search_sources(model, sources, beam_size)

    for source in sources:
        alone = search_sources(model, [source], beam_size)
        assert together[source] == alone[source]


@pytest.mark.parametrize("beam_size", [1, 2])
def test_finished_sources_leave_at_once_and_the_last_ones_fill_their_holes(beam_size: int) -> None:
    targets: list[tuple[int, ...]] = [(), (2, 2, 2), (), (3, 3), (4, 4)]
    stepper = FakeStepper(sentences(5, targets), range(5), beam_size)
    strategy = strategy_for([TargetLimits(9, 0)] * 5, beam_size, vocab_size=5)

    results = search(stepper, strategy)

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

    results = search(stepper, strategy_for([], beam_size))

    assert results == []
    assert stepper.num_rows == []


class FaultyStepper(FakeStepper):
    """Fails, or returns NaN, at its third step."""

    def __init__(self, beam_size: int, fault: Exception | None) -> None:
        super().__init__(RandomModel(9, seed=0), [0], beam_size)
        self.fault = fault

    def step(
        self, last_ids: NDArray[np.int64], num_best: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        logprobs, ids = super().step(last_ids, num_best)
        if len(self.num_rows) < 3:
            return logprobs, ids
        if self.fault is not None:
            raise self.fault
        logprobs[-1, -1] = np.nan
        return logprobs, ids


@pytest.mark.parametrize("beam_size", [1, 4])
def test_what_the_stepper_raises_reaches_the_caller(beam_size: int) -> None:
    fault = RuntimeError("out of memory")
    strategy = strategy_for([TargetLimits(9, 9)], beam_size)

    with pytest.raises(RuntimeError) as raised:
        search(FaultyStepper(beam_size, fault), strategy)

    assert raised.value is fault


@pytest.mark.parametrize("beam_size", [1, 4])
def test_logprobs_that_are_not_numbers_end_the_search(beam_size: int) -> None:
    strategy = strategy_for([TargetLimits(9, 9)], beam_size)

    with pytest.raises(FloatingPointError, match="NaN"):
        search(FaultyStepper(beam_size, None), strategy)


@pytest.mark.parametrize(
    ("max_tokens", "min_tokens", "message"),
    [
        (0, 0, "max_length: 0 is not at least 1"),
        (4, 5, "min_length: 5 is not between 0 and 4"),
        (4, -1, "min_length: -1 is not between 0 and 4"),
    ],
)
def test_limits_that_no_target_can_keep_are_refused(max_tokens: int, min_tokens: int, message: str) -> None:
    with pytest.raises(InputError) as raised:
        TargetLimits(max_tokens, min_tokens)

    assert str(raised.value) == message


def test_a_vocabulary_of_only_the_end_of_sentence_is_refused() -> None:
    with pytest.raises(ValueError, match="vocabulary of size 1"):
        TargetVocabulary(EOS, size=1)


def test_a_source_whose_forced_tokens_fill_its_limit_is_refused() -> None:
    with pytest.raises(InputError) as raised:
        Source((), TargetLimits(2, 0), (BOS, 5, 6))

    assert raised.value.field == "max_length"
    assert raised.value.problem == (
        "2 is too small: this model forces the first 2 target tokens; use at least 3"
    )
    Source((), TargetLimits(3, 0), (BOS, 5, 6))


def test_a_target_that_begins_with_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least"):
        Source((), TargetLimits(2, 0), ())


@pytest.mark.parametrize("beam_size", [1, 3])
@pytest.mark.parametrize("min_tokens", [0, 3])
def test_the_steppers_candidates_are_not_written_to_where_tokens_are_forced_or_ends_come_early(
    beam_size: int, min_tokens: int
) -> None:
    strategy = strategy_for([], beam_size)
    limits = TargetLimits(9, min_tokens)
    strategy.join([Source((), limits, (BOS, 5)), Source((), limits, (BOS,))])
    shape = (2 * beam_size, strategy.num_best)
    logprobs, ids = np.full(shape, -1.0, np.float32), np.full(shape, EOS)
    logprobs.flags.writeable = ids.flags.writeable = False

    strategy.advance(logprobs, ids)

    assert (logprobs == -1.0).all()


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_forced_end_of_sentence_is_refused_before_anything_joins(beam_size: int) -> None:
    strategy = strategy_for([], beam_size)
    good, bad = (Source((), TargetLimits(9, 0), begin) for begin in ((EOS, 2), (BOS, EOS)))

    with pytest.raises(ValueError, match="contain the end-of-sentence id"):
        strategy.join([good, bad])

    assert list(strategy.sources) == []
    assert len(strategy.last_ids) == 0
