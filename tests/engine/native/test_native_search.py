"""Searches in the kernels' library against the Python strategies over the same kernels, to the last bit."""

import random
from ctypes import c_int64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dragoman.bundle import open_bundle
from dragoman.decoding.lanes import open_lane
from dragoman.decoding.loop import AnyLane, StepLimit
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.native.library import library
from dragoman.native.model import NativeModel
from dragoman.native.search_lane import NativeSearchLane
from dragoman.native.search_state import NativeEncoder, NativeSteps
from dragoman.types import ForcedDecoding, Hypothesis, Method, SearchKind
from tests.engine.decoding.random_joins import EOS, FIRST_WORD, START, Joins, RandomSources
from tests.imports.shortlist.random_shortlists import random_shortlist
from tests.paths import TINY

BUNDLE = TINY / "bundle-int8"
VOCABULARY = 360
SOURCES = RandomSources(VOCABULARY, most_source=20, most_target=30, most_joins=4)

pytestmark = pytest.mark.skipif(
    library() is None, reason="the kernels were not built: there is no C++ compiler"
)


@pytest.fixture(scope="module")
def model() -> NativeModel:
    always = np.array([EOS, *range(FIRST_WORD, VOCABULARY, 10)])
    shortlist = random_shortlist(np.random.default_rng(3), VOCABULARY, VOCABULARY, always, max_listed=20)
    return NativeModel(open_bundle(BUNDLE), shortlist=shortlist)


def random_target(rng: random.Random) -> TargetVocabulary:
    """Return a vocabulary without byte pieces, or with many, so that they are often among the best."""
    if rng.random() < 0.3:
        return TargetVocabulary(EOS, VOCABULARY)
    pieces = rng.sample(range(FIRST_WORD, VOCABULARY), VOCABULARY // 3)
    return TargetVocabulary(EOS, VOCABULARY, {piece: rng.randrange(256) for piece in pieces})


def run(
    lane: AnyLane[Any], encoder: NativeEncoder, joins: Joins, max_steps: int = 1
) -> tuple[dict[Source, list[Hypothesis]], dict[Source, list[list[int]]]]:
    """Return each source's hypotheses, and its best target before each call of `step`."""
    waiting, step = list(joins), 0
    found: dict[Source, list[Hypothesis]] = {}
    seen: dict[Source, list[list[int]]] = {}
    while waiting or lane.sources:
        while waiting and waiting[0][0] <= step:
            sources = list(waiting.pop(0)[1])
            lane.join(sources, encoder.run([source.ids for source in sources]))
        for slot, source in enumerate(lane.sources):
            seen.setdefault(source, []).append(lane.best_ids(slot))
        if lane.sources:
            found |= {one.source: one.hypotheses for one in lane.step(StepLimit(max_steps))}
        step += 1
    return found, seen


@pytest.mark.parametrize("seed", range(40))
def test_a_search_in_the_library_is_the_search_in_python_to_the_last_bit(
    seed: int, model: NativeModel
) -> None:
    rng = random.Random(seed)  # noqa: S311 -- tests
    kind = SearchKind(rng.choice([1, 1, 2, 3, 4, 5, 8]), is_shortlisted=rng.random() < 0.5)
    joins = list(SOURCES.joins(rng, kind.beam_size))
    target, encoder = random_target(rng), NativeEncoder(model)

    expected = run(open_lane(kind, NativeSteps(model, kind), target), encoder, joins)

    assert run(NativeSearchLane(model, kind, target), encoder, joins) == expected


@pytest.mark.parametrize("beam_size", [1, 4])
def test_several_steps_at_once_find_the_same(beam_size: int, model: NativeModel) -> None:
    rng = random.Random(beam_size)  # noqa: S311 -- tests
    kind, encoder = SearchKind(beam_size), NativeEncoder(model)
    target = TargetVocabulary(EOS, VOCABULARY)
    joins = [(0, [SOURCES.source(rng, beam_size) for _ in range(5)])]

    expected, _ = run(NativeSearchLane(model, kind, target), encoder, joins)
    lane = NativeSearchLane(model, kind, target)
    found, seen = run(lane, encoder, joins, max_steps=7)

    assert found == expected
    assert max(map(len, seen.values())) <= max(one[0].num_tokens for one in expected.values())
    assert 1 <= lane.num_steps <= 7


@pytest.mark.parametrize(("value", "time_s", "num_steps"), [(7, 60.0, 9), (6, 60.0, 2), (7, 0.0, 2)])
def test_steps_go_on_until_a_source_is_done_or_the_counter_changes_or_time_is_up(
    value: int, time_s: float, num_steps: int, model: NativeModel
) -> None:
    kind, encoder = SearchKind(1), NativeEncoder(model)
    lane = NativeSearchLane(model, kind, TargetVocabulary(EOS, VOCABULARY))
    source = Source((5, 6, EOS), TargetLimits(9, 9), (EOS,))
    lane.join([source], encoder.run([source.ids]))

    found = lane.step(StepLimit(2, c_int64(7), value, time_s))

    assert lane.num_steps == num_steps
    assert [one.source for one in found] == ([source] if num_steps == source.limits.max_tokens else [])


def decoded_by_force(
    model: NativeModel, target: TargetVocabulary, source: Source, ids: tuple[int, ...]
) -> ForcedDecoding:
    """Read a target of a source, alone."""
    kind = SearchKind(1, method=Method.ALIGN)
    lane = open_lane(kind, NativeSteps(model, kind), target)
    joins = [(0, [replace(source, target_ids=ids)])]
    ((hypothesis,),) = run(lane, NativeEncoder(model), joins)[0].values()
    assert hypothesis.reading is not None
    return hypothesis.reading


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("seed", range(8))
def test_the_attention_of_a_search_is_that_of_its_target_decoded_by_force(
    seed: int, beam_size: int, model: NativeModel
) -> None:
    rng = random.Random(seed)  # noqa: S311 -- tests
    kind, target = SearchKind(beam_size, is_shortlisted=rng.random() < 0.5), random_target(rng)
    joins = list(SOURCES.joins(rng, beam_size))
    expected, _ = run(NativeSearchLane(model, kind, target), NativeEncoder(model), joins)
    wanting = {source: replace(source, wants_attention=rng.random() < 0.7) for source in expected}
    joins = [(step, [wanting[source] for source in sources]) for step, sources in joins]

    found, _ = run(NativeSearchLane(model, kind, target), NativeEncoder(model), joins)

    assert any(source.wants_attention for source in found)
    for plain, source in wanting.items():
        without = [hypothesis._replace(reading=None) for hypothesis in found[source]]
        assert without == expected[plain]
        for hypothesis in found[source]:
            assert (hypothesis.reading is not None) == source.wants_attention
            if hypothesis.reading is not None:
                read = decoded_by_force(model, target, source, hypothesis.ids)
                assert np.array_equal(hypothesis.reading.attention, read.attention)
                assert hypothesis.reading.logprobs == ()


def test_a_removed_source_leaves_the_others_as_they_were(model: NativeModel) -> None:
    rng = random.Random(7)  # noqa: S311 -- tests
    kind, encoder = SearchKind(3), NativeEncoder(model)
    target = TargetVocabulary(EOS, VOCABULARY)
    sources = [SOURCES.source(rng, 3) for _ in range(6)]
    expected, _ = run(NativeSearchLane(model, kind, target), encoder, [(0, sources)])
    lane = NativeSearchLane(model, kind, target)
    lane.join(sources, encoder.run([source.ids for source in sources]))

    found = {one.source: one.hypotheses for one in lane.step()}
    leaving = [source for source in lane.sources if source not in found][:2]
    lane.remove(leaving)
    while lane.sources:
        found |= {one.source: one.hypotheses for one in lane.step()}

    assert found == {source: expected[source] for source in sources if source not in leaving}


def test_an_end_of_sentence_cannot_be_forced(model: NativeModel) -> None:
    lane = NativeSearchLane(model, SearchKind(1), TargetVocabulary(EOS, VOCABULARY))
    source = Source([FIRST_WORD, EOS], TargetLimits(9, 0), (START,), prefix=(EOS,))

    with pytest.raises(ValueError, match="end-of-sentence"):
        lane.join([source], NativeEncoder(model).run([source.ids]))

    assert not lane.sources
