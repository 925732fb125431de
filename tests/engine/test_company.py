"""A source gives the same hypotheses, to the last bit, whatever runs beside it and whenever it came."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.bundle import open_bundle
from dragoman.decoding.constraints import Constraints, PhraseForm, RequiredPhrase
from dragoman.decoding.loop import AnyLane, FinishedSource
from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.loading import open_tokenizers
from dragoman.native.library import best_kernels
from dragoman.providers import Kernels, SessionOptions
from dragoman.search_model import open_backend
from dragoman.shortlist import Shortlist
from dragoman.types import Method, SearchKind
from tests.engine.conftest import FP32, INT8
from tests.engine.decoding.fake_lanes import run_to_end
from tests.examples import FEW, FEWEST
from tests.imports.shortlist.random_shortlists import random_shortlist
from tests.paths import MODELS

BUNDLES: list[tuple[Path, Kernels]] = [
    *((path, "onnxruntime") for path in (FP32, INT8, MODELS / "de-en")),
    *((path, "native") for path in (INT8, MODELS / "de-en")),
]
NUM_SOURCES, NUM_OF_LARGE_MODEL = (12, 5) if FEW > FEWEST else (6, 4)
LARGE_VOCAB = 1000
KINDS = [
    *(SearchKind(beam_size, is_shortlisted) for beam_size in (1, 4) for is_shortlisted in (False, True)),
    SearchKind(1, method=Method.FILTERED),
    SearchKind(4, method=Method.FILTERED),
    SearchKind(4, method=Method.CONSTRAINED),
    SearchKind(3, method=Method.SAMPLE),
    SearchKind(1, method=Method.SCORE),
    SearchKind(1, method=Method.ALIGN),
]
FORCED_METHODS = {Method.SCORE, Method.ALIGN}


class Engine:
    def __init__(self, path: Path, kernels: Kernels) -> None:
        self.has_native_kernels = kernels == "native"
        bundle = open_bundle(path)
        self.manifest = bundle.manifest
        ids = self.manifest.special_ids
        (target,) = self.manifest.languages.targets.values()
        (self.begin,) = target.begin
        tokenizer = open_tokenizers(bundle)[1]
        self.target = TargetVocabulary(
            ids.eos, self.manifest.sizes.target_vocab, tokenizer.byte_ids, tokenizer.text_of
        )
        self.backend = open_backend(bundle, SessionOptions(), kernels, self.target, self.shortlist())

    def open_lane(self, kind: SearchKind) -> AnyLane[Any]:
        return self.backend.open_lane(kind, self.target)

    def join(self, lane: AnyLane[Any], sources: list[Source]) -> None:
        lane.join(sources, self.backend.encode([source.ids for source in sources]))

    def shortlist(self) -> Shortlist:
        """Return some of the tokens, of another number for each source, the end of sentence among them."""
        rng, vocab_size = np.random.default_rng(3), self.target.size
        always = np.append(rng.choice(vocab_size, 40, replace=False), self.target.eos_id)
        return random_shortlist(rng, self.manifest.sizes.source_vocab, vocab_size, always, max_listed=40)

    def random_sources(self, rng: np.random.Generator, beam_size: int) -> list[Source]:
        """Mostly short, some as long as the model takes; targets from 1 token to past the first capacity."""
        longest = self.manifest.limits.max_source_tokens
        num = NUM_SOURCES if self.target.size < LARGE_VOCAB else NUM_OF_LARGE_MODEL
        lengths = np.minimum(1 + rng.geometric(0.08, num), longest)
        lengths[rng.integers(num, size=2)] = longest
        sources = []
        for length in lengths.tolist():
            ids = [
                *rng.integers(4, self.manifest.sizes.source_vocab, length - 1).tolist(),
                self.target.eos_id,
            ]
            most = int(rng.integers(1, min(50, self.manifest.limits.max_target_tokens)))
            limits = TargetLimits(most, int(rng.integers(0, most + 1)))
            begin = (self.begin, *rng.integers(4, 40, int(rng.integers(0, min(3, most)))).tolist())
            stops_early = bool(rng.integers(2))
            sources.append(Source(ids, limits, begin, 1.0, beam_size, early_stopping=stops_early))
        return sources

    def with_search_options(self, source: Source, kind: SearchKind, rng: np.random.Generator) -> Source:
        """What the method of a kind looks at besides."""
        room = source.limits.max_tokens - source.num_hidden_forced
        given = tuple(rng.integers(4, self.target.size, int(rng.integers(0, room + 1))).tolist())
        return replace(
            source,
            num_hypotheses=kind.beam_size,
            repetition_penalty=float(rng.uniform(1, 3)),
            no_repeat_ngram_size=int(rng.integers(0, 4)),
            sampling=Sampling(top_k=int(rng.integers(1, 30)), top_p=float(rng.uniform(0.1, 1))),
            seed=int(rng.integers(2**32)),
            constraints=self.random_constraints(rng) if kind.method is Method.CONSTRAINED else None,
            target_ids=given if kind.method in FORCED_METHODS else None,
        )

    def random_constraints(self, rng: np.random.Generator) -> Constraints:
        """Up to three phrases of up to two forms, and a word that is forbidden."""
        phrases = []
        for _ in range(int(rng.integers(4))):
            lengths = rng.integers(1, 4, int(rng.integers(1, 3))).tolist()
            ids = [tuple(rng.integers(4, self.target.size, length).tolist()) for length in lengths]
            phrases.append(
                RequiredPhrase(tuple(PhraseForm(form, "") for form in ids), int(rng.integers(1, 3)))
            )
        forbidden = self.target.text_of(int(rng.integers(4, self.target.size))).strip().casefold()
        return Constraints("en", tuple(phrases), (forbidden,) if forbidden else ())


@pytest.fixture(scope="module", params=BUNDLES, ids=lambda param: f"{param[0].name}-{param[1]}")
def engine(request: pytest.FixtureRequest) -> Engine:
    path, kernels = request.param
    if kernels == "native" and not best_kernels():
        pytest.skip("the kernels are not built, or not for this CPU")
    return Engine(path, kernels)


def search_in_company(
    engine: Engine, sources: list[Source], kind: SearchKind, rng: np.random.Generator
) -> list[FinishedSource]:
    """Groups of random size join a running lane after random numbers of steps."""
    lane = engine.open_lane(kind)
    found: list[FinishedSource] = []
    begin = 0
    while begin < len(sources):
        end = begin + int(rng.integers(1, 9))
        engine.join(lane, sources[begin:end])
        begin = end
        for _ in range(rng.integers(12)):
            if lane.sources:
                found += lane.step()
    return found + run_to_end(lane)


@pytest.mark.examples
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_source_gives_the_same_to_the_last_bit_in_any_company(engine: Engine, kind: SearchKind) -> None:
    if kind.is_shortlisted and engine.manifest.precision == "fp32":
        pytest.skip("fp32 bundles take no shortlists")
    rng = np.random.default_rng([kind.beam_size, kind.is_shortlisted, len(kind.method)])
    sources = [
        engine.with_search_options(source, kind, rng) for source in engine.random_sources(rng, kind.beam_size)
    ]

    found = search_in_company(engine, sources, kind, rng)

    assert len(found) == len(sources)
    for one in found:
        alone = engine.open_lane(kind)
        engine.join(alone, [one.source])
        (again,) = run_to_end(alone)
        for hypothesis, same in zip(one.hypotheses, again.hypotheses, strict=True):
            assert hypothesis._replace(reading=None) == same._replace(reading=None)
            assert (hypothesis.reading is None) == (kind.method not in FORCED_METHODS)
            if hypothesis.reading is not None and same.reading is not None:
                assert hypothesis.reading.logprobs == same.reading.logprobs
                # How the tiny graph that reads attention adds floats up depends on their number.
                tolerance = 0.0 if engine.has_native_kernels else 1e-6
                np.testing.assert_allclose(
                    hypothesis.reading.attention, same.reading.attention, rtol=0, atol=tolerance
                )
