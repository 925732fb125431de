"""A given target is read token by token: how probable each is, and what of the source it says."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.decoding.forced import ForcedDecodingLane
from dragoman.decoding.lanes import open_lane
from dragoman.decoding.loop import AnyLane, FinishedSource, Lane, make_strategy, search
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.errors import InputError
from dragoman.types import FinishReason, ForcedDecoding, Hypothesis, Method, SearchKind
from tests.decoding.fake_stepper import (
    BOS,
    EOS,
    FakeReadingStepper,
    FakeStepper,
    Prefix,
    RandomModel,
    attention_of,
    opening,
)
from tests.decoding.random_sources import begins

MODEL = RandomModel(10, seed=4)
TARGET = TargetVocabulary(EOS, MODEL.vocab_size)
SCORE, ALIGN = (SearchKind(1, method=method) for method in (Method.SCORE, Method.ALIGN))
LENGTHS = (3, 7, 1, 5, 4, 9, 2)
"""Tokens of the sources."""


def source_of(number: int, given: Prefix, begin: Prefix = (BOS,), max_tokens: int = 20) -> Source:
    return Source((number,) * LENGTHS[number], TargetLimits(max_tokens, 0), begin, target_ids=given)


def lane_over(kind: SearchKind, stepper: FakeReadingStepper | None = None) -> AnyLane[list[int]]:
    return open_lane(kind, stepper or FakeReadingStepper(MODEL, LENGTHS), TARGET)


def read_all(kind: SearchKind, sources: list[Source]) -> list[Hypothesis]:
    lane = lane_over(kind)
    join(lane, sources)
    found = {one.source: one.hypotheses for one in run_to_end(lane)}
    return [found[source][0] for source in sources]


def join(lane: AnyLane[list[int]], sources: list[Source]) -> None:
    lane.join(sources, [source.ids[0] for source in sources])


def run_to_end(lane: AnyLane[list[int]]) -> list[FinishedSource]:
    found: list[FinishedSource] = []
    while lane.sources:
        found += lane.step()
    return found


def reading_of(hypothesis: Hypothesis) -> ForcedDecoding:
    assert hypothesis.reading is not None
    return hypothesis.reading


@st.composite
def given_sources(draw: st.DrawFn, number: int) -> Source:
    begin, target = draw(begins), draw(st.lists(st.integers(EOS + 1, 9), max_size=6))
    room = draw(st.integers(0, 2))
    return Source(
        (number,) * LENGTHS[number],
        TargetLimits(max(len(begin) - 1 + len(target) + room, len(begin)), 0),
        begin,
        length_penalty=draw(st.sampled_from([0.0, 0.6, 1.0])),
        target_ids=tuple(target),
    )


@given(given_sources(number=3), st.sampled_from([SCORE, ALIGN]))
def test_each_token_has_its_logprob_and_what_the_step_that_says_it_attends_to(
    source: Source, kind: SearchKind
) -> None:
    (hypothesis,) = read_all(kind, [source])

    assert source.target_ids is not None
    read = opening(source.begin)
    has_end = len(source.begin) - 1 + len(source.target_ids) < source.limits.max_tokens
    said = (*source.target_ids, EOS) if has_end else source.target_ids
    steps = [float(MODEL.logprobs(3, (*read, *said[:nth]))[token]) for nth, token in enumerate(said)]
    assert hypothesis.ids == source.target_ids
    assert hypothesis.num_tokens == len(source.begin) - 1 + len(said)
    assert hypothesis.finish_reason is (FinishReason.STOP if has_end else FinishReason.LENGTH)
    reading = reading_of(hypothesis)
    expected = [attention_of(3, (*read, *said[:nth]), LENGTHS[3]) for nth in range(len(said))]
    assert reading.attention.tolist() == np.array(expected).tolist()
    if kind is SCORE:
        assert list(reading.logprobs) == steps
        assert hypothesis.logprob == pytest.approx(math.fsum(steps))
        assert hypothesis.score == pytest.approx(
            hypothesis.logprob / hypothesis.num_tokens**source.length_penalty
        )
    else:
        assert (reading.logprobs, hypothesis.logprob, hypothesis.score) == ((), 0.0, 0.0)


def test_only_scores_ask_for_logprobs() -> None:
    for kind, num_wanted in ((SCORE, [1, 1, 1]), (ALIGN, [0, 0, 0])):
        stepper = FakeReadingStepper(MODEL, LENGTHS)
        lane = lane_over(kind, stepper)
        join(lane, [source_of(0, (5, 6))])
        run_to_end(lane)

        assert stepper.num_wanted == num_wanted


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=len(LENGTHS)),
    st.sampled_from([SCORE, ALIGN]),
    st.integers(0, 2),
    st.data(),
)
def test_a_source_is_read_the_same_in_any_company(
    delays: list[int], kind: SearchKind, num_dropped: int, data: st.DataObject
) -> None:
    sources = [data.draw(given_sources(number=number)) for number in range(len(delays))]
    lane = lane_over(kind)

    found: list[FinishedSource] = []
    for source, delay in zip(sources, delays, strict=True):
        join(lane, [source])
        for _ in range(delay):
            found += lane.step() if lane.sources else []
    lane.remove(set(sources[:num_dropped]))
    found += run_to_end(lane)

    assert {id(one.source) for one in found} >= {id(source) for source in sources[num_dropped:]}
    for one in found:
        (together,), (alone,) = one.hypotheses, read_all(kind, [one.source])
        assert replace(together, reading=None) == replace(alone, reading=None)
        assert reading_of(together).logprobs == reading_of(alone).logprobs
        assert reading_of(together).attention.tolist() == reading_of(alone).attention.tolist()


@pytest.mark.parametrize("begin", [(BOS,), (2, 7), (EOS, 5, 3)])
@pytest.mark.parametrize("max_tokens", [4, 5, 12])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_what_a_search_found_is_read_with_the_score_that_it_found(
    begin: Prefix, max_tokens: int, length_penalty: float
) -> None:
    source = Source((0,) * LENGTHS[0], TargetLimits(max_tokens, 0), begin, length_penalty, prefix=(8,))
    ((searched,),) = search(FakeStepper(MODEL, [0], 3), make_strategy([source], 3, TARGET))

    (read,) = read_all(SCORE, [replace(source, target_ids=searched.ids)])

    assert replace(read, reading=None, logprob=0.0, score=0.0) == replace(searched, logprob=0.0, score=0.0)
    assert read.logprob == pytest.approx(searched.logprob)
    assert read.score == pytest.approx(searched.score)
    assert reading_of(read).logprobs[0] == 0.0  # of the prefix


class Faulty(FakeReadingStepper):
    """Returns NaN for source 1, once it has read two tokens."""

    is_attention_faulty = False

    def read(
        self, last_ids: NDArray[np.int64], wanted_ids: NDArray[np.int64] | None
    ) -> tuple[NDArray[np.float32] | None, NDArray[np.float32]]:
        logprobs, attention = super().read(last_ids, wanted_ids)
        for row, (source, prefix) in enumerate(self.rows):
            if source == 1 and len(prefix or ()) == 2:
                if self.is_attention_faulty or logprobs is None:
                    attention[row, 0] = np.nan
                else:
                    logprobs[row] = np.nan
        return logprobs, attention


@pytest.mark.parametrize("is_attention_faulty", [False, True], ids=["logprobs", "attention"])
@pytest.mark.parametrize("kind", [SCORE, ALIGN], ids=str)
def test_what_is_not_a_number_fails_only_the_source_it_is_for(
    kind: SearchKind,
    is_attention_faulty: bool,  # noqa: FBT001 -- a case, by name
) -> None:
    stepper = Faulty(MODEL, LENGTHS)
    stepper.is_attention_faulty = is_attention_faulty
    lane = lane_over(kind, stepper)
    sources = [source_of(number, (5, 6, 7, 8)) for number in range(3)]
    join(lane, sources)

    found = {one.source: one for one in run_to_end(lane)}

    assert isinstance(found[sources[1]].error, FloatingPointError)
    assert found[sources[1]].hypotheses == []
    for source in (sources[0], sources[2]):
        (alone,) = read_all(kind, [source])
        assert found[source].error is None
        assert found[source].hypotheses[0].logprob == alone.logprob


def test_a_source_leaves_after_the_step_that_says_its_end_of_sentence() -> None:
    stepper = FakeReadingStepper(MODEL, LENGTHS)
    lane = lane_over(SCORE, stepper)
    join(lane, [source_of(0, ()), source_of(1, (5, 6)), source_of(2, (5,), begin=(2, 7))])

    run_to_end(lane)

    assert stepper.num_rows == [3, 2, 2]


def test_a_beginning_is_what_was_given_so_far() -> None:
    lane = lane_over(SCORE)
    join(lane, [source_of(0, (5, 6), begin=(BOS, 7))])

    beginnings = [lane.best_ids(0)]
    for _ in range(3):
        lane.step()
        beginnings.append(lane.best_ids(0))

    assert beginnings == [[], [], [5], [5, 6]]


def test_attention_cannot_be_changed_by_whoever_gets_it() -> None:
    (hypothesis,) = read_all(ALIGN, [source_of(0, (5,))])

    with pytest.raises(ValueError, match="read-only"):
        reading_of(hypothesis).attention[0, 0] = 1.0


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        (replace(source_of(0, ()), target_ids=None), "requires target_ids"),
        (source_of(0, (5, EOS, 6)), "contain the end-of-sentence id"),
        (source_of(0, (5,), begin=(BOS, EOS)), "contain the end-of-sentence id"),
    ],
)
def test_what_cannot_be_read_is_refused_before_anything_joins(source: Source, problem: str) -> None:
    stepper = FakeReadingStepper(MODEL, LENGTHS)
    lane = lane_over(SCORE, stepper)

    with pytest.raises(ValueError, match=problem):
        join(lane, [source_of(1, ()), source])

    assert list(lane.sources) == []
    assert stepper.rows == []


def test_a_target_over_its_limit_is_refused_by_name() -> None:
    with pytest.raises(InputError) as raised:
        source_of(0, (5, 6, 7), begin=(BOS, 8), max_tokens=3)

    assert (raised.value.field, raised.value.problem) == ("target", "3 tokens are over the limit of 2")


def test_a_target_that_does_not_begin_with_its_prefix_is_refused() -> None:
    with pytest.raises(ValueError, match="do not begin with"):
        Source((0,), TargetLimits(9, 0), (BOS,), prefix=(5,), target_ids=(6, 5))


@pytest.mark.parametrize("kind", [SCORE, ALIGN], ids=str)
def test_what_is_read_has_a_lane_of_its_own(kind: SearchKind) -> None:
    lane = lane_over(kind)

    assert isinstance(lane, ForcedDecodingLane)
    assert lane.kind == kind


@pytest.mark.parametrize("method", [Method.SEARCH, Method.FILTERED, Method.SAMPLE])
@pytest.mark.parametrize("num_rows", [1, 3])
def test_what_is_searched_for_has_a_lane_with_its_strategy(method: Method, num_rows: int) -> None:
    kind = SearchKind(num_rows, method=method)
    source = Source(
        (0,),
        TargetLimits(9, 0),
        (BOS,),
        num_hypotheses=num_rows,
        repetition_penalty=2.0,
        sampling=Sampling(seed=1),
        seed=5,
    )
    lane = lane_over(kind, FakeReadingStepper(MODEL, LENGTHS, num_rows))
    join(lane, [source])

    (found,) = run_to_end(lane)

    assert isinstance(lane, Lane)
    assert lane.kind == kind
    strategy = make_strategy([source], kind, TARGET)
    assert [found.hypotheses] == search(FakeStepper(MODEL, [0], num_rows), strategy)


def test_a_reading_lane_takes_no_search() -> None:
    with pytest.raises(ValueError, match="does not support"):
        ForcedDecodingLane(SearchKind(1), FakeReadingStepper(MODEL, LENGTHS), TARGET)
    with pytest.raises(ValueError, match="not a search method"):
        make_strategy([], SCORE, TARGET)
