"""What is drawn follows the model's distribution, and from seed, draw and step alone."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import TemperatureLogitsWarper, TopKLogitsWarper, TopPLogitsWarper

from dragoman.decoding.options import Sampling
from dragoman.decoding.sampling import draw_columns, segment_seed
from dragoman.decoding.strategy import Source, TargetLimits
from dragoman.types import Hypothesis, Method
from tests.engine.decoding.fake_lanes import search_with
from tests.engine.decoding.fake_stepper import (
    BOS,
    EOS,
    FakeStepper,
    Ids,
    LanguageModel,
    Logprobs,
    Prefix,
    RandomModel,
    TableModel,
    random_models,
)
from tests.engine.decoding.random_sources import samplings
from tests.engine.decoding.random_sources import sources as random_sources
from tests.engine.decoding.reference_search import check_documented

NUM_DRAWS = 32
CRITICAL_VALUES = {1: 10.8, 2: 13.8, 3: 16.3, 4: 18.5, 5: 20.5, 6: 22.5, 7: 24.3, 8: 26.1}
"""Of chi-square by degrees of freedom: above once in 1000 times if the draws are right."""


def draw_all(model: LanguageModel, sources: list[Source], num_draws: int) -> list[list[Hypothesis]]:
    """Source i is the model's source 0."""
    return search_with(Alike(model, range(len(sources)), num_draws), sources, Method.SAMPLE)


class Alike(FakeStepper):
    """All sources are to the model what source 0 is."""

    def read_on(self, last_ids: Ids) -> Logprobs:
        super().read_on(last_ids)
        return np.stack([self.model.logprobs(0, prefix or ()) for _, prefix in self.rows])


def counted(
    model: LanguageModel,
    sampling: Sampling,
    limits: TargetLimits = TargetLimits(1, 0),  # noqa: B008 -- it is frozen
    num_sources: int = 200,
) -> Counter[Prefix]:
    """What 32 draws of each of many seeds say."""
    source = Source((), limits, (BOS,), num_hypotheses=NUM_DRAWS, sampling=sampling)
    sources = [replace(source, seed=seed) for seed in range(num_sources)]
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


def test_the_steps_of_a_target_are_drawn_independently() -> None:
    first, second = {2: 0.5, 3: 0.3, 4: 0.2}, {2: 0.2, 3: 0.5, 4: 0.3}
    model = TableModel(5, {(0, ()): first, **{(0, (token,)): second for token in first}})

    counts = counted(model, Sampling(), TargetLimits(2, 0))

    check_counts(counts, {(one, other): first[one] * second[other] for one in first for other in second})


def test_an_end_too_early_is_not_drawn_and_gives_its_place_to_others() -> None:
    model = TableModel(5, {(0, ()): {EOS: 0.4, 2: 0.3, 3: 0.2, 4: 0.1}})

    assert set(counted(model, Sampling(top_k=2), num_sources=20)) == {(), (2,)}
    check_counts(
        counted(model, Sampling(), TargetLimits(1, 1)), {(2,): 0.3 / 0.6, (3,): 0.2 / 0.6, (4,): 0.1 / 0.6}
    )
    assert set(counted(model, Sampling(top_k=2), TargetLimits(1, 1), num_sources=20)) == {(2,), (3,)}


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
    sources = [Source((), TargetLimits(9, 2), (BOS,), sampling=sampling, seed=seed) for seed in range(8)]
    drawn, greedy = (
        search_with(FakeStepper(RandomModel(20, seed=3), range(8)), sources, method)
        for method in (Method.SAMPLE, Method.SEARCH)
    )

    assert drawn == greedy


@given(random_models(min_vocab=3, max_impossible=0), st.integers(1, 6), samplings, st.data())
def test_draws_are_scored_by_the_model_at_any_temperature(
    model: RandomModel, num_draws: int, sampling: Sampling, data: st.DataObject
) -> None:
    source = replace(
        data.draw(random_sources(num_draws)), sampling=sampling, seed=data.draw(st.integers(0, 99))
    )

    (hypotheses,) = search_with(FakeStepper(model, [0], num_draws), [source], Method.SAMPLE)

    assert len(hypotheses) == source.num_hypotheses
    check_documented(model, 0, source, hypotheses)


def test_a_seed_draws_the_same_again_and_another_something_else() -> None:
    model = RandomModel(30, seed=8, sharpness=0.5)
    limits = TargetLimits(8, 7)
    source = Source((), limits, (BOS,), num_hypotheses=4, sampling=Sampling())
    sources = [replace(source, seed=seed) for seed in (1, 2, 1)]

    first, other, again = draw_all(model, sources, 4)

    assert first == again
    assert len({one.ids for one in (*first, *other)}) == 8


def test_an_impossible_step_is_a_hypothesis_that_nothing_is_worse_than() -> None:
    model = TableModel(4, {(0, ()): {2: 1.0}, (0, (2,)): {2: 1.0}})
    source = Source((), TargetLimits(3, 2), (BOS,), no_repeat_ngram_size=1, sampling=Sampling(top_k=2))

    ((hypothesis,),) = draw_all(model, [source], 1)

    assert hypothesis.logprob == -math.inf


def test_as_many_candidates_as_the_widest_source_draws_among_are_requested() -> None:
    stepper = FakeStepper(RandomModel(100, seed=1), [0, 1])
    sources = [
        Source((), TargetLimits(length, length), (BOS,), sampling=sampling)
        for length, sampling in ((4, Sampling(top_k=10)), (2, Sampling()))
    ]

    search_with(stepper, sources, Method.SAMPLE)

    assert stepper.num_best == [100, 100, 16, 16]


def test_segments_have_seeds_of_their_own_that_follow_from_the_texts() -> None:
    fixed, free = Sampling(seed=7), Sampling()

    seeds = [segment_seed(fixed, segment) for segment in range(100)]

    assert seeds == [segment_seed(fixed, segment) for segment in range(100)]
    assert len(set(seeds)) == 100
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert segment_seed(free, 0) != segment_seed(free, 0)
    assert segment_seed(Sampling(seed=8), 0) != seeds[0]
