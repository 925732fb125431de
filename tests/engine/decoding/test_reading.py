"""A given target is read token by token: how probable each is, and what of the source it says."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.decoding.forced import ForcedDecodingLane
from dragoman.decoding.loop import AnyLane, Lane, make_strategy
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.types import FinishReason, ForcedDecoding, Hypothesis, Method, SearchKind
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
    FakeReadingStepper,
    FakeStepper,
    Prefix,
    RandomModel,
    attention_of,
    opening,
)
from tests.engine.decoding.random_sources import begins

MODEL = RandomModel(10, seed=4)
TARGET = TargetVocabulary(EOS, MODEL.vocab_size)
SCORE, ALIGN = (SearchKind(1, method=method) for method in (Method.SCORE, Method.ALIGN))
LENGTHS = (3, 7, 1, 5, 4, 9, 2)
"""Tokens of the sources."""


def source_of(number: int, given: Prefix, begin: Prefix = (BOS,), max_tokens: int = 20) -> Source:
    return Source((number,) * LENGTHS[number], TargetLimits(max_tokens, 0), begin, target_ids=given)


def open_empty(kind: SearchKind, stepper: FakeReadingStepper | None = None) -> AnyLane[list[int]]:
    return lane_over(stepper or FakeReadingStepper(MODEL, LENGTHS), kind.method)


def read_all(kind: SearchKind, sources: list[Source]) -> list[Hypothesis]:
    lane = open_empty(kind)
    join(lane, sources)
    found = {one.source: one.hypotheses for one in run_to_end(lane)}
    return [found[source][0] for source in sources]


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
def test_each_token_has_its_logprob_and_the_attention_of_its_step(source: Source, kind: SearchKind) -> None:
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
        lane = open_empty(kind, stepper)
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

    check_any_company(lambda: open_empty(kind), sources, delays, num_dropped)


@pytest.mark.parametrize("begin", [(BOS,), (2, 7), (EOS, 5, 3)])
@pytest.mark.parametrize("max_tokens", [4, 5, 12])
@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_forced_decoding_gives_the_score_of_the_search(
    begin: Prefix, max_tokens: int, length_penalty: float
) -> None:
    source = Source((0,) * LENGTHS[0], TargetLimits(max_tokens, 0), begin, length_penalty, prefix=(8,))
    ((searched,),) = search_with(FakeStepper(MODEL, [0], 3), [source])

    (read,) = read_all(SCORE, [replace(source, target_ids=searched.ids)])

    assert read._replace(reading=None, logprob=0.0, score=0.0) == searched._replace(logprob=0.0, score=0.0)
    assert (read.logprob, read.score) == pytest.approx((searched.logprob, searched.score))
    assert reading_of(read).logprobs[0] == 0.0  # of the prefix


@pytest.mark.parametrize("is_attention_faulty", [False, True], ids=["logprobs", "attention"])
@pytest.mark.parametrize("kind", [SCORE, ALIGN], ids=str)
def test_a_nan_fails_only_its_source(kind: SearchKind, *, is_attention_faulty: bool) -> None:
    stepper = FakeReadingStepper(MODEL, LENGTHS)
    stepper.faulty, stepper.is_attention_faulty = (1, 2), is_attention_faulty
    sources = [source_of(number, (5, 6, 7, 8)) for number in range(3)]

    check_fault(lambda: open_empty(kind), open_empty(kind, stepper), sources, sources[1])


def test_a_source_leaves_after_the_step_of_its_end_of_sentence() -> None:
    stepper = FakeReadingStepper(MODEL, LENGTHS)
    lane = open_empty(SCORE, stepper)
    join(lane, [source_of(0, ()), source_of(1, (5, 6)), source_of(2, (5,), begin=(2, 7))])

    run_to_end(lane)

    assert stepper.num_rows == [3, 2, 2]


def test_a_beginning_is_what_was_given_so_far() -> None:
    lane = open_empty(SCORE)
    join(lane, [source_of(0, (5, 6), begin=(BOS, 7))])

    beginnings = [lane.best_ids(0)]
    for _ in range(3):
        lane.step()
        beginnings.append(lane.best_ids(0))

    assert beginnings == [[], [], [5], [5, 6]]


def test_attention_is_read_only() -> None:
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
def test_an_unscorable_source_is_rejected_before_any_joins(source: Source, problem: str) -> None:
    stepper = FakeReadingStepper(MODEL, LENGTHS)
    lane = open_empty(SCORE, stepper)

    with pytest.raises(ValueError, match=problem):
        join(lane, [source_of(1, ()), source])

    assert list(lane.sources) == []
    assert stepper.rows == []


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_lane_has_the_strategy_of_its_kind(kind: SearchKind) -> None:
    source = Source((0,), TargetLimits(9, 0), (BOS,), repetition_penalty=2.0, sampling=Sampling(), seed=5)
    lane = lane_over(FakeReadingStepper(MODEL, LENGTHS, kind.beam_size), kind.method)
    join(lane, [source])

    (found,) = run_to_end(lane)

    assert isinstance(lane, Lane)
    assert lane.kind == kind
    assert [found.hypotheses] == search_with(FakeStepper(MODEL, [0], kind.beam_size), [source], kind.method)


def test_a_reading_lane_takes_no_search() -> None:
    with pytest.raises(ValueError, match="does not support"):
        ForcedDecodingLane(SearchKind(1), FakeReadingStepper(MODEL, LENGTHS), TARGET)
    with pytest.raises(ValueError, match="has a lane of its own"):
        make_strategy([], SCORE, TARGET)
