"""What is drawn follows the model's distribution, and from seed, draw and step alone."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from dragoman.decoding.loop import FinishedSource, Lane, make_strategy, open_strategy, search
from dragoman.decoding.options import Sampling
from dragoman.decoding.sampling import draw_columns, segment_seed
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.types import FinishReason, Hypothesis, Method, SearchKind
from tests.decoding.fake_stepper import (
    BOS,
    EOS,
    FakeStepper,
    LanguageModel,
    Prefix,
    RandomModel,
    TableModel,
    opening,
    random_models,
)
from tests.decoding.random_sources import sources as random_sources

NUM_DRAWS = 32
CRITICAL_VALUES = {2: 13.8, 3: 16.3, 4: 18.5, 5: 20.5, 6: 22.5, 7: 24.3, 8: 26.1}
"""Of chi-square by degrees of freedom: above once in 1000 times if the draws are right."""

samplings = st.builds(
    Sampling,
    top_k=st.integers(0, 8),
    top_p=st.sampled_from([0.01, 0.5, 0.9, 1.0]),
    temperature=st.sampled_from([1e-300, 0.1, 0.7, 1.0, 3.0]),
)


def draw_all(model: LanguageModel, sources: list[Source], num_draws: int) -> list[list[Hypothesis]]:
    """Source i is the model's source 0."""
    kind = SearchKind(num_draws, method=Method.SAMPLE)
    lane = Lane(
        kind, Alike(model, [], num_draws), open_strategy(kind, TargetVocabulary(EOS, model.vocab_size))
    )
    lane.join(sources, list(range(len(sources))))
    found: dict[Source, list[Hypothesis]] = {}
    while lane.sources:
        found |= {one.source: one.hypotheses for one in lane.step()}
    return [found[source] for source in sources]


class Alike(FakeStepper):
    """All sources are to the model what source 0 is."""

    def read_on(self, last_ids: NDArray[np.int64]) -> NDArray[np.float32]:
        super().read_on(last_ids)
        return np.stack([self.model.logprobs(0, prefix or ()) for _, prefix in self.rows])


def counted(
    model: LanguageModel,
    sampling: Sampling,
    *,
    max_tokens: int = 1,
    min_tokens: int = 0,
    num_sources: int = 200,
) -> Counter[Prefix]:
    """What 32 draws of each of many seeds say."""
    sources = [
        Source(
            (),
            TargetLimits(max_tokens, min_tokens),
            (BOS,),
            num_hypotheses=NUM_DRAWS,
            sampling=sampling,
            seed=seed,
        )
        for seed in range(num_sources)
    ]
    return Counter(one.ids for draws in draw_all(model, sources, NUM_DRAWS) for one in draws)


def check_counts(counts: Counter[Prefix], probabilities: Mapping[Prefix, float]) -> None:
    """Pearson's chi-square test."""
    assert set(counts) <= set(probabilities)
    total = sum(counts.values())
    assert min(probabilities.values()) * total > 5
    chi_square = sum(
        (counts[ids] - total * probability) ** 2 / (total * probability)
        for ids, probability in probabilities.items()
    )
    assert chi_square < CRITICAL_VALUES[len(probabilities) - 1]


NEXT = {2: 0.4, 3: 0.3, 4: 0.15, 5: 0.1, EOS: 0.05}
ONE_TOKEN = TableModel(7, {(0, ()): NEXT})


@pytest.mark.parametrize(
    ("sampling", "weights"),
    [
        (Sampling(), NEXT),
        (Sampling(top_k=3), {2: 0.4, 3: 0.3, 4: 0.15}),
        (Sampling(top_p=0.71), {2: 0.4, 3: 0.3, 4: 0.15}),
        (Sampling(top_p=0.69), {2: 0.4, 3: 0.3, 4: 0.0}),
        (Sampling(temperature=0.5), {token: chance**2 for token, chance in NEXT.items()}),
        (Sampling(temperature=2.0), {token: chance**0.5 for token, chance in NEXT.items()}),
        # After the temperature 0.4 ** 2 of 0.285 is 56 %.
        (Sampling(top_p=0.6, temperature=0.5), {2: 0.16, 3: 0.09, 4: 0.0}),
        # Among the first three, 0.4 + 0.3 of 0.85 are 82 %.
        (Sampling(top_k=3, top_p=0.8), {2: 0.4, 3: 0.3, 4: 0.0}),
    ],
)
def test_tokens_come_as_often_as_their_probability_says(
    sampling: Sampling, weights: dict[int, float]
) -> None:
    counts = counted(ONE_TOKEN, sampling)

    possible = {() if token == EOS else (token,): weight for token, weight in weights.items() if weight}
    if len(possible) == 2:
        assert set(counts) == set(possible)
        share = possible[2,] / sum(possible.values())
        assert counts[2,] / counts.total() == pytest.approx(share, abs=0.025)
        return
    total = sum(possible.values())
    check_counts(counts, {ids: weight / total for ids, weight in possible.items()})


def test_the_steps_of_a_target_are_drawn_independently() -> None:
    first, second = {2: 0.5, 3: 0.3, 4: 0.2}, {2: 0.2, 3: 0.5, 4: 0.3}
    model = TableModel(5, {(0, ()): first, **{(0, (token,)): second for token in first}})

    counts = counted(model, Sampling(), max_tokens=2)

    check_counts(counts, {(one, other): first[one] * second[other] for one in first for other in second})


def test_an_end_too_early_is_not_drawn_and_gives_its_place_to_others() -> None:
    model = TableModel(5, {(0, ()): {EOS: 0.4, 2: 0.3, 3: 0.2, 4: 0.1}})

    assert set(counted(model, Sampling(top_k=2), num_sources=20)) == {(), (2,)}
    check_counts(
        counted(model, Sampling(), min_tokens=1), {(2,): 0.3 / 0.6, (3,): 0.2 / 0.6, (4,): 0.1 / 0.6}
    )
    assert set(counted(model, Sampling(top_k=2), min_tokens=1, num_sources=20)) == {(2,), (3,)}


@given(
    st.integers(0, 2**32 - 1),
    samplings.filter(lambda sampling: sampling.temperature > 1e-9),
    st.sampled_from([1.0, 4.0]),
)
def test_candidates_are_as_likely_as_transformers_makes_them(
    seed: int, sampling: Sampling, sharpness: float
) -> None:
    logits = torch.from_numpy(np.random.default_rng(seed).normal(size=(1, 12)) * sharpness)
    logprobs, order = logits.log_softmax(dim=1).sort(dim=1, descending=True)
    chances = (np.arange(4000) + 0.5) / 4000

    columns = draw_columns(logprobs.float().numpy().repeat(4000, axis=0), sampling, chances)

    scores = TemperatureLogitsWarper(sampling.temperature)(order, logits)
    if sampling.top_k:
        scores = TopKLogitsWarper(sampling.top_k)(order, scores)
    scores = TopPLogitsWarper(sampling.top_p)(order, scores)
    expected = scores.softmax(dim=1)[0, order[0]].numpy()
    assert np.bincount(columns, minlength=12) / 4000 == pytest.approx(expected, abs=1 / 1000)


@pytest.mark.parametrize("sampling", [Sampling(top_k=1), Sampling(top_p=1e-6), Sampling(temperature=1e-300)])
def test_nothing_but_the_best_to_draw_among_is_greedy_search(sampling: Sampling) -> None:
    model = RandomModel(20, seed=3)
    target = TargetVocabulary(EOS, 20)
    sources = [Source((), TargetLimits(9, 2), (BOS,), sampling=sampling, seed=seed) for seed in range(8)]

    drawn = search(
        FakeStepper(model, range(8)), make_strategy(sources, SearchKind(1, method=Method.SAMPLE), target)
    )

    assert drawn == search(FakeStepper(model, range(8)), make_strategy(sources, 1, target))


def source_of(number: int, sampling: Sampling, num_draws: int) -> Source:
    begin = ((BOS,), (BOS, 2), (EOS, 5, 3))[number % 3]
    prefix = ((), (6, 2))[number % 2]
    num_forced = len(begin) - 1 + len(prefix)
    return Source(
        ids=(number,),
        limits=TargetLimits(num_forced + 1 + number % 7, min_tokens=number % 3),
        begin=begin,
        length_penalty=(0.0, 1.0)[number % 2],
        num_hypotheses=num_draws,
        prefix=prefix,
        repetition_penalty=(1.0, 1.0, 1.4)[number % 3],
        sampling=sampling,
        seed=number % 2,
    )


@given(
    random_models(min_vocab=7),
    st.lists(st.tuples(st.integers(0, 5), samplings), min_size=1, max_size=7),
    st.sampled_from([1, 2, 5]),
    st.integers(0, 2),
)
@settings(max_examples=150)
def test_a_source_gets_the_same_draws_in_any_company(
    model: RandomModel, arrivals: list[tuple[int, Sampling]], num_draws: int, num_dropped: int
) -> None:
    kind, target = SearchKind(num_draws, method=Method.SAMPLE), TargetVocabulary(EOS, model.vocab_size)
    sources = [source_of(number, sampling, num_draws) for number, (_, sampling) in enumerate(arrivals)]
    lane = Lane(kind, FakeStepper(model, [], num_draws), open_strategy(kind, target))

    found: list[FinishedSource] = []
    for source, (delay, _) in zip(sources, arrivals, strict=True):
        lane.join([source], [source.ids[0]])
        for _ in range(delay):
            found += lane.step() if lane.sources else []
    lane.remove(set(sources[:num_dropped]))
    while lane.sources:
        found += lane.step()

    assert {id(one.source) for one in found} >= {id(source) for source in sources[num_dropped:]}
    for one in found:
        alone = make_strategy([one.source], kind, target)
        assert [one.hypotheses] == search(FakeStepper(model, one.source.ids, num_draws), alone)


@given(random_models(min_vocab=3, max_impossible=0), st.integers(1, 6), samplings, st.data())
def test_draws_are_counted_and_scored_as_the_model_says_whatever_the_temperature(
    model: RandomModel, num_draws: int, sampling: Sampling, data: st.DataObject
) -> None:
    source = replace(
        data.draw(random_sources(num_draws)), sampling=sampling, seed=data.draw(st.integers(0, 99))
    )
    kind = SearchKind(num_draws, method=Method.SAMPLE)
    strategy = make_strategy([source], kind, TargetVocabulary(EOS, model.vocab_size))

    (hypotheses,) = search(FakeStepper(model, [0], num_draws), strategy)

    assert len(hypotheses) == source.num_hypotheses
    scores = [one.score for one in hypotheses]
    assert scores == sorted(scores, reverse=True)
    for one in hypotheses:
        is_stopped = one.finish_reason is FinishReason.STOP
        said = (*one.ids, EOS) if is_stopped else one.ids
        assert EOS not in one.ids
        assert one.ids[: len(source.prefix)] == source.prefix
        assert one.num_tokens == len(source.begin) - 1 + len(said)
        assert one.num_tokens - is_stopped >= source.limits.min_tokens
        assert is_stopped or one.num_tokens == source.limits.max_tokens
        read = opening(source.begin)
        steps = [
            float(model.logprobs(0, (*read, *said[:nth]))[said[nth]])
            for nth in range(len(source.prefix), len(said))
        ]
        assert one.logprob == pytest.approx(math.fsum(steps))
        assert one.score == pytest.approx(one.logprob / one.num_tokens**source.length_penalty)


def test_a_seed_draws_the_same_again_and_another_something_else() -> None:
    model = RandomModel(30, seed=8, sharpness=0.5)
    limits = TargetLimits(8, 7)
    sources = [
        Source((), limits, (BOS,), num_hypotheses=4, sampling=Sampling(), seed=seed) for seed in (1, 2, 1)
    ]

    first, other, again = draw_all(model, sources, 4)

    assert first == again
    assert len({one.ids for one in (*first, *other)}) == 8


def test_an_impossible_step_is_a_hypothesis_that_nothing_is_worse_than() -> None:
    model = TableModel(4, {(0, ()): {2: 1.0}, (0, (2,)): {2: 1.0}})
    source = Source((), TargetLimits(3, 2), (BOS,), no_repeat_ngram_size=1, sampling=Sampling(top_k=2))

    ((hypothesis,),) = draw_all(model, [source], 1)

    assert hypothesis.logprob == -math.inf


def test_as_many_candidates_as_the_widest_source_draws_among_are_asked_for() -> None:
    stepper = FakeStepper(RandomModel(100, seed=1), [0, 1])
    sources = [
        Source((), TargetLimits(length, length), (BOS,), sampling=sampling)
        for length, sampling in ((4, Sampling(top_k=10)), (2, Sampling()))
    ]

    strategy = make_strategy(sources, SearchKind(1, method=Method.SAMPLE), TargetVocabulary(EOS, 100))
    search(stepper, strategy)

    assert stepper.num_best == [100, 100, 16, 16]


def test_a_source_that_does_not_say_how_to_draw_is_refused() -> None:
    strategy = open_strategy(SearchKind(1, method=Method.SAMPLE), TargetVocabulary(EOS, 9))

    with pytest.raises(ValueError, match="requires sampling options"):
        strategy.join([Source((), TargetLimits(9, 0), (BOS,))])

    assert list(strategy.sources) == []


def test_segments_have_seeds_of_their_own_that_follow_from_the_texts() -> None:
    fixed, free = Sampling(seed=7), Sampling()

    seeds = [segment_seed(fixed, segment) for segment in range(100)]

    assert seeds == [segment_seed(fixed, segment) for segment in range(100)]
    assert len(set(seeds)) == 100
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert segment_seed(free, 0) != segment_seed(free, 0)
    assert segment_seed(Sampling(seed=8), 0) != seeds[0]
