"""A search whose K/V lie on a device finds what it finds with numpy arrays, to the last bit."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnxruntime import InferenceSession, IOBinding, OrtValue

from dragoman.bundle import Bundle, open_bundle
from dragoman.decoding.constraints import Constraints, PhraseForm, RequiredPhrase
from dragoman.decoding.lanes import open_lane
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.errors import BundleError
from dragoman.graphs import slots
from dragoman.graphs.caches import CellCaches, SelfCaches
from dragoman.graphs.decoder import Decoder, DecoderSteps
from dragoman.graphs.device import Device, DeviceMemory
from dragoman.graphs.encoder import Encoder
from dragoman.graphs.slots import SlottedSteps
from dragoman.providers import SessionOptions
from dragoman.types import Hypothesis, Method, SearchKind
from tests.imports.parity.random_bundles import random_model, write
from tests.paths import TINY

ON_DEVICE = SessionOptions(keeps_memory_on_device=True)
NUM_SOURCES = 24
GREEDY = SearchKind(1)


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


KINDS = {
    "greedy": SearchKind(1),
    "beams": SearchKind(4),
    "constrained": SearchKind(3, method=Method.CONSTRAINED),
    "forced": SearchKind(1, method=Method.SCORE),
}
Result = tuple[Hypothesis, tuple[object, ...]]
PHRASE = RequiredPhrase((PhraseForm((17, 23), "w"), PhraseForm((31,), "v")))


class Search:
    """A search for one kind, in host memory or as on a device."""

    def __init__(self, bundle: Bundle, kind: SearchKind, options: SessionOptions) -> None:
        eos_id, vocab_size = bundle.manifest.special_ids.eos, bundle.manifest.sizes.target_vocab
        self.encoder, decoder = Encoder(bundle, options), Decoder(bundle, options)
        if options.keeps_memory_on_device:
            decoder.session = DeviceSession(decoder.session)
        self.steps = decoder.open_steps(kind)
        self.lane = open_lane(kind, self.steps, TargetVocabulary(eos_id, vocab_size))

    def join(self, sources: list[Source]) -> None:
        self.lane.join(sources, self.encoder.run([source.ids for source in sources]))


def random_sources(bundle: Bundle, kind: SearchKind) -> list[Source]:
    """Of lengths that make cross K/V grow and shrink, with targets long enough for self K/V to grow twice."""
    rng = np.random.default_rng(7)
    manifest = bundle.manifest
    sources = []
    for length in rng.integers(1, 40, NUM_SOURCES).tolist():
        ids = [*rng.integers(4, manifest.sizes.source_vocab, length).tolist(), manifest.special_ids.eos]
        most = int(rng.integers(1, 64))
        source = Source(ids, TargetLimits(most, int(rng.integers(0, most + 1))), (2,), 1.0, kind.beam_size)
        if kind.method is Method.CONSTRAINED and most > 4:
            source = replace(source, constraints=Constraints("en", (PHRASE,)))
        if kind.method is Method.SCORE:
            target = rng.integers(4, manifest.sizes.target_vocab, most - 1)
            source = replace(source, target_ids=tuple(target.tolist()))
        sources.append(source)
    return sources


def search_with_joins_and_drops(sources: list[Source], search: Search) -> list[tuple[int, list[Result]]]:
    """Up to three sources join every fourth step, as long as there are any; now and then one is given up."""
    waiting, found, step = list(sources), [], 0
    lane = search.lane
    while waiting or lane.sources:
        if waiting and step % 4 == 0:
            search.join([waiting.pop(0) for _ in range(min(len(waiting), 1 + step % 3))])
        if step % 11 == 10 and lane.sources:
            lane.remove({lane.sources[step % len(lane.sources)]})
        if lane.sources:
            found += lane.step()
        step += 1
    return [(sources.index(one.source), [comparable(each) for each in one.hypotheses]) for one in found]


def comparable(hypothesis: Hypothesis) -> Result:
    """Split off what forced decoding read: arrays cannot be compared with `==`."""
    reading = hypothesis.reading
    values = () if reading is None else (reading.logprobs, reading.attention.tolist())
    return hypothesis._replace(reading=None), values


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_search_on_a_device_is_the_same_to_the_last_bit(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, kind: SearchKind
) -> None:
    """Whether gaps are closed at once when half of the slots are unused, or later, or never."""
    sources = random_sources(bundle, kind)
    expected = search_with_joins_and_drops(sources, Search(bundle, kind, SessionOptions()))

    def reject(value: OrtValue) -> None:
        raise AssertionError(f"{value} was brought to the host")

    for rows_at_one_cost in (0, 8, 256):
        device = Search(bundle, kind, ON_DEVICE)
        with monkeypatch.context() as patch:
            patch.setattr(OrtValue, "numpy", reject)
            patch.setattr(slots, "ROWS_AT_ONE_COST", rows_at_one_cost)
            assert search_with_joins_and_drops(sources, device) == expected, rows_at_one_cost
    assert len(expected) > NUM_SOURCES / 2, "most were not given up"
    if kind.method is not Method.SCORE:
        assert any(len(hypotheses[0][0].ids) > 32 for _, hypotheses in expected), "self K/V grew twice"


@pytest.fixture
def tiny_graphs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tiny graphs that have run."""
    names: list[str] = []
    run = Device.run

    def record(
        device: Device, graph: str, values: Mapping[str, OrtValue], numbers: Mapping[str, NDArray[np.int64]]
    ) -> OrtValue:
        names.append(graph)
        return run(device, graph, values, numbers)

    monkeypatch.setattr(Device, "run", record)
    return names


def long_sources(bundle: Bundle, count: int, length: int = 9) -> list[Source]:
    """Sources that take 12 steps: self K/V do not grow."""
    eos_id = bundle.manifest.special_ids.eos
    limits = TargetLimits(12, 12)
    return [
        Source([*range(5 + number, 4 + number + length), eos_id], limits, (2,)) for number in range(count)
    ]


def test_no_row_moves_until_half_of_the_sources_have_left(
    bundle: Bundle, monkeypatch: pytest.MonkeyPatch, tiny_graphs: list[str]
) -> None:
    monkeypatch.setattr(slots, "ROWS_AT_ONE_COST", 7)
    search = Search(bundle, GREEDY, ON_DEVICE)
    search.join(long_sources(bundle, 8))
    tiny_graphs.clear()

    for _ in range(3):
        search.lane.remove({search.lane.sources[1]})
        search.lane.step()
        assert not tiny_graphs
    search.lane.remove({search.lane.sources[1]})

    assert set(tiny_graphs) == {"take"}, "four of eight slots were unused"


def test_few_rows_do_not_move_until_the_last_source_has_left(bundle: Bundle, tiny_graphs: list[str]) -> None:
    search = Search(bundle, GREEDY, ON_DEVICE)
    search.join(long_sources(bundle, 8))
    tiny_graphs.clear()

    while search.lane.sources:
        search.lane.remove({search.lane.sources[0]})

    assert not tiny_graphs


@pytest.mark.parametrize("kind", [GREEDY, SearchKind(4)])
def test_a_join_runs_one_tiny_graph_for_cross_kv_and_at_most_one_for_the_state(
    bundle: Bundle, tiny_graphs: list[str], kind: SearchKind
) -> None:
    """At first, in unused slots, in new ones, for wider sources, and after all have left."""
    search = Search(bundle, kind, ON_DEVICE)
    search.join(long_sources(bundle, 4))
    assert len(tiny_graphs) == 2
    search.lane.remove(set(search.lane.sources[:3]))
    for count, length, num_slots in ((2, 9, 4), (4, 30, 7), (1, 5, 8)):
        tiny_graphs.clear()
        search.join(long_sources(bundle, count, length))
        assert len(tiny_graphs) <= 2
        assert tiny_graphs[0] == "join", "cross K/V"
        assert inner(search.steps)._num_rows == num_slots * kind.beam_size
        search.lane.step()
    search.lane.remove(set(search.lane.sources))
    tiny_graphs.clear()
    search.join(long_sources(bundle, 2))

    assert len(tiny_graphs) <= 2


def test_beams_that_change_places_take_one_tiny_graph_a_step(bundle: Bundle, tiny_graphs: list[str]) -> None:
    kind = SearchKind(4)
    search = Search(bundle, kind, ON_DEVICE)
    search.join(long_sources(bundle, 3))
    for step in range(8):
        tiny_graphs.clear()
        if step == 4:
            search.lane.remove({search.lane.sources[0]})
        search.lane.step()
        assert tiny_graphs in ([], ["take"])


def test_rows_that_nobody_reads_do_not_lengthen_steps(bundle: Bundle) -> None:
    search = Search(bundle, GREEDY, ON_DEVICE)
    first, second = long_sources(bundle, 2)
    search.join([first])
    for _ in range(5):
        search.lane.step()
    search.join([second])
    search.lane.remove({first})
    for _ in range(3):
        search.lane.step()

    steps = inner(search.steps)
    assert steps._lengths[:2].tolist() == [1, 3], "the unused row begins again in every step"
    assert steps._total_length == 3


def inner(steps: DecoderSteps | SlottedSteps) -> DecoderSteps:
    assert isinstance(steps, SlottedSteps)
    assert isinstance(steps._steps, DecoderSteps)
    return steps._steps


def test_cross_kv_stay_on_the_device(bundle: Bundle) -> None:
    cross = Encoder(bundle, ON_DEVICE).run([[5, 6, 7, 3], [8, 3]])
    steps = inner(Decoder(bundle, ON_DEVICE).start(cross, 2))

    assert isinstance(cross.memory, OrtValue)
    assert isinstance(steps._cross.memory, DeviceMemory)
    state = steps._state
    assert isinstance(state, SelfCaches | CellCaches)
    assert isinstance(state.memory, DeviceMemory)


def test_int8_bundles_do_not_open_on_a_device() -> None:
    with pytest.raises(BundleError, match=r"cache_dtype int8 needs host memory"):
        Decoder(open_bundle(TINY / "bundle-int8"), ON_DEVICE)
