"""Searches on the GPU, in Triton's interpreter, against the strategies in Python over the same kernels."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.bundle import open_bundle
from dragoman.cuda.backend import CudaBackend
from dragoman.cuda.model import CudaModel
from dragoman.cuda.search_lane import CudaSearchLane
from dragoman.decoding.loop import AnyLane, Lane, StepLimit, open_strategy
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.errors import InputError
from dragoman.manifest import AlignmentHeads
from dragoman.providers import SessionOptions
from dragoman.types import FinishReason, Hypothesis, Method, SearchKind
from tests.engine.cuda.cuda_models import DEVICE, CudaSteps, open_model
from tests.engine.cuda.half_bundles import write_half
from tests.engine.decoding.random_joins import FIRST_WORD, START, Joins, RandomSources
from tests.imports.parity.random_bundles import EOS, VOCAB

SOURCES = RandomSources(VOCAB, most_source=9, most_target=9, most_joins=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_half(tmp_path_factory.mktemp("half") / "bundle")


@pytest.fixture(scope="module")
def model(folder: Path) -> CudaModel:
    return open_model(folder)


def run(lane: AnyLane[Any], joins: Joins, max_steps: int = 1) -> dict[Source, list[Hypothesis]]:
    """Return each source's hypotheses."""
    waiting, step = list(joins), 0
    found: dict[Source, list[Hypothesis]] = {}
    while waiting or lane.sources:
        while waiting and waiting[0][0] <= step:
            sources = list(waiting.pop(0)[1])
            lane.join(sources, [source.ids for source in sources])
        if lane.sources:
            found |= {one.source: one.hypotheses for one in lane.step(StepLimit(max_steps))}
        step += 1
    return found


def in_python(model: CudaModel, kind: SearchKind, target: TargetVocabulary) -> AnyLane[Any]:
    return Lane(kind, CudaSteps(model, kind.beam_size), open_strategy(kind, target))


@pytest.mark.parametrize("seed", range(8))
def test_a_search_on_the_gpu_is_the_search_in_python_to_the_last_bit(seed: int, folder: Path) -> None:
    """With byte pieces, which are often among the best, and without; several steps at once."""
    rng = random.Random(seed)  # noqa: S311 -- tests
    kind = SearchKind([1, 1, 2, 3, 1, 4, 1, 5][seed])
    joins = list(SOURCES.joins(rng, kind.beam_size))
    target = TargetVocabulary(EOS, VOCAB)
    if seed % 4:
        pieces = rng.sample(range(FIRST_WORD, VOCAB), VOCAB // 3)
        target = TargetVocabulary(EOS, VOCAB, {piece: rng.randrange(256) for piece in pieces})
    model = open_model(folder, target)

    expected = run(in_python(model, kind, target), joins)

    assert run(CudaSearchLane(model, kind), joins, rng.randint(1, 4)) == expected


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_attention_of_a_search_is_that_of_its_target_decoded_by_force(
    beam_size: int, tmp_path: Path
) -> None:
    """By onnxruntime, which rounds other numbers to fp16."""
    rng = random.Random(beam_size)  # noqa: S311 -- tests
    folder = write_half(tmp_path / "bundle", AlignmentHeads(1, (1,), reads_token=False), decoder_layers=2)
    target = TargetVocabulary(EOS, VOCAB)
    backend = CudaBackend(open_bundle(folder), SessionOptions(), target, "native", DEVICE)
    lane = backend.open_lane(SearchKind(beam_size), target)
    drawn = [SOURCES.source(rng, beam_size) for _ in range(6)]
    sources = [
        replace(source, wants_attention=nth % 3 > 0, num_hypotheses=beam_size)
        for nth, source in enumerate(drawn)
    ]

    found = run(lane, [(0, sources[:3]), (1, sources[3:])], 3)

    for source, hypotheses in found.items():
        for hypothesis in hypotheses:
            assert (hypothesis.reading is not None) == source.wants_attention
            if hypothesis.reading is not None:
                forced = backend.open_lane(SearchKind(1, method=Method.ALIGN), target)
                given = replace(source, target_ids=hypothesis.ids)
                ((read,),) = run(forced, [(0, [given])]).values()
                assert read.reading is not None
                assert np.allclose(hypothesis.reading.attention, read.reading.attention, atol=2e-3)
                assert hypothesis.reading.attention.shape == read.reading.attention.shape


@pytest.mark.parametrize("beam_size", [1, 3])
def test_a_source_has_the_same_bits_alone_and_in_company(beam_size: int, model: CudaModel) -> None:
    rng = random.Random(beam_size)  # noqa: S311 -- tests
    kind = SearchKind(beam_size)
    sources = [SOURCES.source(rng, beam_size) for _ in range(3)]

    together = run(CudaSearchLane(model, kind), [(0, sources)], 3)

    for source in sources:
        assert run(CudaSearchLane(model, kind), [(0, [source])], 8)[source] == together[source]


def test_a_removed_source_leaves_the_others_as_they_were_and_frees_its_slot(model: CudaModel) -> None:
    rng = random.Random(7)  # noqa: S311 -- tests
    sources = [SOURCES.source(rng, 2) for _ in range(3)]
    expected = run(CudaSearchLane(model, SearchKind(2)), [(0, sources)])
    free = model.slots.num_free
    lane = CudaSearchLane(model, SearchKind(2))
    lane.join(sources, [])
    lane.remove([sources[2]])

    found = run(lane, [])

    assert found == {source: expected[source] for source in sources[:2]}
    assert model.slots.num_free == free


def test_the_best_target_so_far_is_reported_between_steps(model: CudaModel) -> None:
    source = Source([FIRST_WORD, EOS], TargetLimits(6, 5), (START,), prefix=(7, 8))
    for beam_size in (1, 2):
        lane = CudaSearchLane(model, SearchKind(beam_size))
        lane.join([source], [])
        lane.step()
        assert lane.best_ids(0) == [7]
        lane.step(StepLimit(2))
        assert lane.best_ids(0)[:2] == [7, 8]
        assert len(lane.best_ids(0)) == 3


def test_a_target_at_its_limit_says_so(model: CudaModel) -> None:
    source = Source([FIRST_WORD, EOS], TargetLimits(3, 3), (START,))

    ((hypothesis,),) = run(CudaSearchLane(model, SearchKind(1)), [(0, [source])], 8).values()

    assert (hypothesis.num_tokens, hypothesis.finish_reason) == (3, FinishReason.LENGTH)


@pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning")
def test_nan_is_an_error_of_its_source_alone(folder: Path) -> None:
    model = open_model(folder)
    sources = [Source([word, EOS], TargetLimits(5, 5), (START,)) for word in (FIRST_WORD, FIRST_WORD + 1)]
    lane = CudaSearchLane(model, SearchKind(1))
    lane.join(sources, [])
    lane.step()
    model.cross_caches[0][lane.slots[0]] = np.nan

    (first,) = lane.step()

    assert first.source is sources[0]
    assert isinstance(first.error, FloatingPointError)
    assert lane.sources == [sources[1]]


def test_a_source_over_the_slot_size_is_rejected_with_the_limit(model: CudaModel) -> None:
    lane = CudaSearchLane(model, SearchKind(1))

    with pytest.raises(InputError, match=r"max_length.*are over the limit of"):
        lane.join([Source([EOS], TargetLimits(10_000, 0), (START,))], [])
    with pytest.raises(InputError, match=r"text.*are over the limit of"):
        lane.join([Source([7] * 10_000, TargetLimits(5, 0), (START,))], [])
    with pytest.raises(ValueError, match="end-of-sentence"):
        lane.join([Source([EOS], TargetLimits(9, 0), (START,), prefix=(EOS,))], [])

    assert not lane.sources


def test_a_lane_without_free_slots_reports_it_and_a_dropped_lane_frees_its_slots(model: CudaModel) -> None:
    free = model.slots.num_free
    lane = CudaSearchLane(model, SearchKind(2))
    source = Source([FIRST_WORD, EOS], TargetLimits(3, 0), (START,))

    with pytest.raises(MemoryError, match="slots"):
        lane.join([source] * (free[1] + 1), [])

    del lane
    assert model.slots.num_free == free
