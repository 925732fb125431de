"""Searches with filters, against plain Python over filtered models."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from dragoman.decoding.filters import find_repeats, round_up
from dragoman.decoding.loop import FinishedSource, Lane, make_strategy, open_strategy, search
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.types import Hypothesis, Method, SearchKind
from tests.decoding import reference_search
from tests.decoding.fake_stepper import (
    BOS,
    EOS,
    FakeStepper,
    RandomModel,
    TableModel,
    sentences,
)
from tests.decoding.random_sources import sources as random_sources

models = st.builds(
    RandomModel,
    vocab_size=st.integers(10, 60),
    seed=st.integers(0, 2**32 - 1),
    sharpness=st.sampled_from([0.0, 1.0, 3.0]),
    num_impossible=st.integers(0, 5),
)
"""Wide enough for more candidates than a search asks for."""


@st.composite
def filtered_sources(draw: st.DrawFn, beam_size: int) -> Source:
    source = draw(random_sources(beam_size))
    more = draw(st.integers(0, 10))
    return replace(
        source,
        limits=TargetLimits(source.limits.max_tokens + more, source.limits.min_tokens + more // 2),
        repetition_penalty=draw(st.sampled_from([1.0, 1.2, 3.0])),
        no_repeat_ngram_size=draw(st.sampled_from([0, 1, 2, 3])),
    )


def search_filtered(
    model: RandomModel | TableModel, sources: list[Source], beam_size: int
) -> list[list[Hypothesis]]:
    kind = SearchKind(beam_size, method=Method.FILTERED)
    strategy = make_strategy(sources, kind, TargetVocabulary(EOS, model.vocab_size))
    return search(FakeStepper(model, range(len(sources)), beam_size), strategy)


@given(models, st.integers(2, 5), st.data())
@settings(max_examples=150)
def test_a_beam_with_filters_finds_what_plain_python_does(
    model: RandomModel, beam_size: int, data: st.DataObject
) -> None:
    sources = data.draw(st.lists(filtered_sources(beam_size), min_size=1, max_size=3))

    results = search_filtered(model, sources, beam_size)

    for number, (source, hypotheses) in enumerate(zip(sources, results, strict=True)):
        filtered = reference_search.FilteredModel(model, source)
        expected, _ = reference_search.beam(filtered, number, source, beam_size)
        if not expected:
            assert [one.logprob for one in hypotheses] == [-math.inf]
            continue
        assert [one.ids for one in hypotheses] == [one.ids for one in expected]
        assert [one.finish_reason for one in hypotheses] == [one.finish_reason for one in expected]
        assert [one.score for one in hypotheses] == pytest.approx([one.score for one in expected], abs=1e-5)


@given(models, st.data())
@settings(max_examples=150)
def test_greedy_search_with_filters_finds_what_plain_python_does(
    model: RandomModel, data: st.DataObject
) -> None:
    sources = data.draw(st.lists(filtered_sources(1), min_size=1, max_size=4))

    results = search_filtered(model, sources, 1)

    for number, (source, (hypothesis,)) in enumerate(zip(sources, results, strict=True)):
        expected = reference_search.greedy(reference_search.FilteredModel(model, source), number, source)
        if expected.score == -math.inf:  # all is impossible: what is said then means nothing
            assert hypothesis.score == -math.inf
            continue
        assert hypothesis.ids == expected.ids
        assert hypothesis.finish_reason == expected.finish_reason
        assert hypothesis.score == pytest.approx(expected.score, abs=1e-5)


@given(models, st.sampled_from([1, 3]), st.lists(st.integers(0, 5), min_size=1, max_size=5), st.data())
def test_filters_of_one_source_are_nothing_to_another_whenever_it_joins(
    model: RandomModel, beam_size: int, delays: list[int], data: st.DataObject
) -> None:
    sources = [
        replace(data.draw(filtered_sources(beam_size)), ids=(number,)) for number in range(len(delays))
    ]
    kind = SearchKind(beam_size, method=Method.FILTERED)
    target = TargetVocabulary(EOS, model.vocab_size)
    lane = Lane(kind, FakeStepper(model, [], beam_size), open_strategy(kind, target))

    found: list[FinishedSource] = []
    for source, delay in zip(sources, delays, strict=True):
        lane.join([source], [source.ids[0]])
        for _ in range(delay):
            found += lane.step() if lane.sources else []
    dropped = sources[0]
    lane.remove({dropped})
    while lane.sources:
        found += lane.step()

    assert {id(one.source) for one in found} >= {id(source) for source in sources[1:]}
    for one in found:
        alone = make_strategy([one.source], kind, target)
        assert [one.hypotheses] == search(FakeStepper(model, one.source.ids, beam_size), alone)


@pytest.mark.parametrize("kind", [SearchKind(1), SearchKind(3)], ids=str)
def test_filters_that_do_nothing_find_what_a_plain_search_does(kind: SearchKind) -> None:
    model = RandomModel(30, seed=4)
    sources = [Source((), TargetLimits(9, 3), (BOS,)) for _ in range(5)]
    target = TargetVocabulary(EOS, 30)
    stepper = FakeStepper(model, range(5), kind.beam_size)

    plain = search(stepper, make_strategy(sources, kind, target))

    assert search_filtered(model, sources, kind.beam_size) == plain
    assert max(stepper.num_best) == kind.beam_size + 1


def test_a_repeated_token_has_its_logprob_times_the_penalty() -> None:
    said_again = {2: 0.8, EOS: 0.2}
    model = TableModel(4, {(0, ()): {2: 1.0}, (0, (2,)): said_again, (0, (2, 2)): {EOS: 1.0}})

    def best(penalty: float) -> Hypothesis:
        source = Source((), TargetLimits(5, 0), (BOS,), 0.0, repetition_penalty=penalty)
        ((hypothesis,),) = search_filtered(model, [source], 2)
        return hypothesis

    assert [best(penalty).ids for penalty in (2.0, 9.0)] == [(2, 2), (2,)]
    assert best(2.0).logprob == pytest.approx(2 * math.log(0.8))
    assert best(9.0).logprob == pytest.approx(math.log(0.2))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_ngram_occurs_twice(size: int) -> None:
    model = RandomModel(12, seed=9, sharpness=4.0)
    sources = [
        Source((), TargetLimits(25, 9), (BOS, 5), no_repeat_ngram_size=size, num_hypotheses=3)
        for _ in range(20)
    ]

    for hypotheses in search_filtered(model, sources, 3):
        for ids in (one.ids for one in hypotheses if one.logprob > -math.inf):
            said = (BOS, 5, *ids)
            ngrams = [said[begin : begin + size] for begin in range(len(said) - size + 1)]
            assert len(ngrams) == len(set(ngrams))


@pytest.mark.parametrize("beam_size", [1, 2])
def test_the_end_of_sentence_may_come_although_it_starts_the_decoder(beam_size: int) -> None:
    source = Source((), TargetLimits(9, 0), (EOS,), no_repeat_ngram_size=1)
    model = TableModel(5, {(0, (EOS,)): {2: 1.0}, (0, (EOS, 2)): {EOS: 0.9, 3: 0.1}})

    ((hypothesis,),) = search_filtered(model, [source], beam_size)

    assert hypothesis.ids == (2,)
    assert hypothesis.logprob == pytest.approx(math.log(0.9))


@pytest.mark.parametrize("method", [Method.FILTERED, Method.SAMPLE])
def test_what_filters_forbid_is_forced_where_it_must_be(method: Method) -> None:
    source = Source(
        (),
        TargetLimits(9, 0),
        (BOS, 2, 2),
        repetition_penalty=5.0,
        no_repeat_ngram_size=1,
        prefix=(2, 2),
        sampling=Sampling(),
    )
    stepper = FakeStepper(sentences(5, [(2, 2, 2, 2, 3)]), [0])

    strategy = make_strategy([source], SearchKind(1, method=method), TargetVocabulary(EOS, 5))
    ((hypothesis,),) = search(stepper, strategy)

    assert (hypothesis.ids, hypothesis.logprob) == ((2, 2, 3), 0.0)


def test_few_numbers_of_candidates_are_asked_for() -> None:
    stepper = FakeStepper(RandomModel(500, seed=2), [0, 1], 2)
    sources = [
        Source((), TargetLimits(100, 99), (BOS,), repetition_penalty=1.3),
        Source((), TargetLimits(100, 99), (BOS,), no_repeat_ngram_size=2),
    ]
    kind = SearchKind(2, method=Method.FILTERED)

    search(stepper, make_strategy(sources, kind, TargetVocabulary(EOS, 500)))

    assert set(stepper.num_best) == {8, 16, 32, 64, 128}
    assert [round_up(wanted, 100) for wanted in (1, 8, 9, 64, 65, 400)] == [8, 8, 16, 64, 100, 100]


def test_ngrams_alone_ask_for_no_more_than_they_forbid() -> None:
    stepper = FakeStepper(sentences(500, [(2, 3, 2, 4, 2, 5, *range(10, 40))]), [0])
    source = Source((), TargetLimits(50, 0), (BOS,), no_repeat_ngram_size=2)

    search(
        stepper, make_strategy([source], SearchKind(1, method=Method.FILTERED), TargetVocabulary(EOS, 500))
    )

    assert set(stepper.num_best) == {8}


class NaNLater(FakeStepper):
    """Returns NaN for source 0 once it has read three tokens."""

    def step(
        self, last_ids: NDArray[np.int64], num_best: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        logprobs, ids = super().step(last_ids, num_best)
        for row, (source, prefix) in enumerate(self.rows):
            if source == 0 and len(prefix or ()) == 3:
                logprobs[row, 0] = np.nan
        return logprobs, ids


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_faulty_source_that_alone_had_filters_leaves_the_others_as_they_were(beam_size: int) -> None:
    """Greedy search looks at the last of its candidates, so it must not get more than it wants."""
    model = RandomModel(40, seed=6)
    kind = SearchKind(beam_size, method=Method.FILTERED)
    target = TargetVocabulary(EOS, 40)
    sources = [
        Source((number,), TargetLimits(12, 11), (BOS,), repetition_penalty=1.0 if number else 2.0)
        for number in range(6)
    ]
    lane = Lane(kind, NaNLater(model, [], beam_size), open_strategy(kind, target))
    lane.join(sources, list(range(6)))

    found: dict[Source, FinishedSource] = {}
    while lane.sources:
        found |= {one.source: one for one in lane.step()}

    assert isinstance(found[sources[0]].error, FloatingPointError)
    for source in sources[1:]:
        alone = make_strategy([source], kind, target)
        assert [found[source].hypotheses] == search(FakeStepper(model, source.ids, beam_size), alone)


@given(
    st.lists(
        st.tuples(st.lists(st.integers(0, 2), min_size=1, max_size=12), st.integers(0, 5)),
        min_size=1,
        max_size=5,
    )
)
def test_repeats_are_those_that_complete_an_ngram_read_before(rows: list[tuple[list[int], int]]) -> None:
    width = max(len(read) for read, _ in rows)
    padded = np.array([read + [0] * (width - len(read)) for read, _ in rows])
    lengths, sizes = np.array([len(read) for read, _ in rows]), np.array([size for _, size in rows])

    actual = find_repeats(padded, lengths, sizes)

    for (read, size), is_repeat in zip(rows, actual.tolist(), strict=True):
        begun = read[len(read) - size + 1 :]
        expected = [
            bool(size) and place + 1 >= size and place < len(read) and read[place - size + 1 : place] == begun
            for place in range(width)
        ]
        assert is_repeat == expected
