"""A search whose K/V lie on a device finds what it finds with numpy arrays, to the last bit."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnxruntime import InferenceSession, IOBinding, OrtValue

from dragoman.bundle import Bundle, open_bundle
from dragoman.decoding.loop import Lane, open_strategy
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.errors import BundleError
from dragoman.graphs.caches import CellCaches, SelfCaches
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.device import DeviceMemory
from dragoman.graphs.encoder import CrossKV, Encoder
from dragoman.providers import SessionOptions
from dragoman.types import Hypothesis, SearchKind
from tests.parity.random_bundles import random_model, write

TINY = Path(__file__).parents[1] / "tiny"
ON_DEVICE = SessionOptions(keeps_memory_on_device=True)
NUM_SOURCES = 24


class CopyingBinding:
    """A binding to a device: what it is given from the host it copies at once, and sees no change of it."""

    def __init__(self, binding: IOBinding) -> None:
        self.binding = binding

    def bind_cpu_input(self, name: str, array: NDArray[Any]) -> None:
        self.binding.bind_cpu_input(name, array.copy())

    def __getattr__(self, name: str) -> Any:
        return getattr(self.binding, name)


class DeviceSession:
    """A session as one on a device would be."""

    def __init__(self, session: InferenceSession) -> None:
        self.session = session

    def io_binding(self) -> CopyingBinding:
        return CopyingBinding(self.session.io_binding())

    def run_with_iobinding(self, binding: CopyingBinding) -> None:
        self.session.run_with_iobinding(binding.binding)


@pytest.fixture(scope="module", params=["attention", "ssru fp32", "ssru fp16"])
def bundle(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    autoregression, _, precision = request.param.partition(" ")
    if autoregression == "attention":
        return open_bundle(TINY / "bundle-fp32")
    model = random_model({"autoregression": autoregression})
    return open_bundle(write(tmp_path_factory.mktemp(precision), model, precision))


@pytest.fixture(scope="module")
def open_lane(bundle: Bundle) -> Callable[[int, SessionOptions], tuple[Encoder, Lane[CrossKV]]]:
    ids, vocab_size = bundle.manifest.special_ids, bundle.manifest.sizes.target_vocab
    target = TargetVocabulary(ids.eos, vocab_size)

    def opened(beam_size: int, options: SessionOptions) -> tuple[Encoder, Lane[CrossKV]]:
        encoder, decoder = Encoder(bundle, options), Decoder(bundle, options)
        if options.keeps_memory_on_device:
            decoder.session = DeviceSession(decoder.session)
        steps = decoder.open_steps(SearchKind(beam_size))
        return encoder, Lane(SearchKind(beam_size), steps, open_strategy(beam_size, target))

    return opened


def random_sources(bundle: Bundle, beam_size: int) -> list[Source]:
    """Of lengths that make cross K/V grow and shrink, with targets long enough for self K/V to grow twice."""
    rng = np.random.default_rng(7)
    manifest = bundle.manifest
    sources = []
    for length in rng.integers(1, 40, NUM_SOURCES).tolist():
        ids = [*rng.integers(4, manifest.sizes.source_vocab, length).tolist(), manifest.special_ids.eos]
        most = int(rng.integers(1, 64))
        sources.append(Source(ids, TargetLimits(most, int(rng.integers(0, most + 1))), (2,), 1.0, beam_size))
    return sources


def search_with_joins_and_drops(
    sources: list[Source], encoder: Encoder, lane: Lane[CrossKV]
) -> list[tuple[int, list[Hypothesis]]]:
    """Up to three sources join every fourth step, as long as there are any; now and then one is given up."""
    waiting, found, step = list(sources), [], 0
    while waiting or lane.sources:
        if waiting and step % 4 == 0:
            joining = [waiting.pop(0) for _ in range(min(len(waiting), 1 + step % 3))]
            lane.join(joining, encoder.run([source.ids for source in joining]))
        if step % 11 == 10 and lane.sources:
            lane.remove({lane.sources[-1]})
        if lane.sources:
            found += lane.step()
        step += 1
    return [(sources.index(one.source), one.hypotheses) for one in found]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_search_on_a_device_is_the_same_to_the_last_bit(
    bundle: Bundle,
    open_lane: Callable[[int, SessionOptions], tuple[Encoder, Lane[CrossKV]]],
    monkeypatch: pytest.MonkeyPatch,
    beam_size: int,
) -> None:
    sources = random_sources(bundle, beam_size)
    expected = search_with_joins_and_drops(sources, *open_lane(beam_size, SessionOptions()))
    device = open_lane(beam_size, ON_DEVICE)

    def reject(value: OrtValue) -> None:
        raise AssertionError(f"{value} was brought to the host")

    monkeypatch.setattr(OrtValue, "numpy", reject)
    found = search_with_joins_and_drops(sources, *device)

    assert found == expected
    assert len(found) > NUM_SOURCES / 2, "most were not given up"
    assert any(len(hypotheses[0].ids) > 32 for _, hypotheses in found), "self K/V grew twice"


def test_cross_kv_stay_on_the_device(bundle: Bundle) -> None:
    cross = Encoder(bundle, ON_DEVICE).run([[5, 6, 7, 3], [8, 3]])
    steps = Decoder(bundle, ON_DEVICE).start(cross, 2)

    assert isinstance(cross.memory, OrtValue)
    assert isinstance(steps._cross.memory, DeviceMemory)
    state = steps._state
    assert isinstance(state, SelfCaches | CellCaches)
    assert isinstance(state.memory, DeviceMemory)


def test_int8_bundles_do_not_open_on_a_device() -> None:
    with pytest.raises(BundleError, match=r"cache_dtype int8 needs host memory"):
        Decoder(open_bundle(TINY / "bundle-int8"), ON_DEVICE)
