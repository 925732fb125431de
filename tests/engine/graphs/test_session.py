"""Graphs run on the requested providers or not at all, and put the memory of loading in order."""

import mmap
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import BundleError, ProviderError, Translator
from dragoman.bundle import Bundle, open_bundle
from dragoman.contract import DECODER_FILE, decoder_inputs
from dragoman.graphs.process_memory import HUGE_PAGE_BYTES, _new_ranges, compacted_memory
from dragoman.graphs.session import caches_read_on_cpu, new_session, open_session
from dragoman.providers import EXECUTION_PROVIDERS, Provider, SessionOptions, parse_providers
from tests.imports.parity.random_bundles import random_model, write
from tests.paths import TINY


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    return open_bundle(TINY / "bundle-fp32")


@pytest.fixture
def _all_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: list(EXECUTION_PROVIDERS.values()))


without_cuda = pytest.mark.skipif(
    "CUDAExecutionProvider" in onnxruntime.get_available_providers(), reason="CUDA is in this onnxruntime"
)


def of_precision(bundle: Bundle, precision: str) -> Bundle:
    return replace(bundle, manifest=replace(bundle.manifest, precision=precision))


@pytest.mark.parametrize(
    ("text", "providers"),
    [
        ("cpu", ("cpu",)),
        ("cuda", ("cuda",)),
        ("tensorrt, cuda ,cpu", ("tensorrt", "cuda", "cpu")),
        ("cuda,tensorrt", ("cuda", "tensorrt")),
    ],
)
def test_providers_are_listed_the_most_wanted_first(text: str, providers: tuple[Provider, ...]) -> None:
    assert parse_providers(text) == SessionOptions(providers=providers).providers == providers


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "provider '' is unknown; known are cpu, cuda, tensorrt") for text in ("", "cuda,,cpu")),
        ("gpu", "provider 'gpu' is unknown; known are cpu, cuda, tensorrt"),
        ("cuda,cuda", "provider 'cuda' is named twice in cuda,cuda"),
        ("cpu,cuda", "provider 'cuda' comes after cpu in cpu,cuda"),
    ],
)
def test_providers_that_make_no_sense_are_rejected(text: str, message: str) -> None:
    with pytest.raises(ProviderError, match=f"^{re.escape(message)}"):
        parse_providers(text)
    with pytest.raises(ProviderError, match="give at least one of cpu, cuda, tensorrt"):
        SessionOptions(providers=())


@without_cuda
@pytest.mark.parametrize("providers", [("cuda",), ("cuda", "cpu")])
def test_a_provider_that_onnxruntime_does_not_have_is_named_with_what_it_has(
    providers: tuple[Provider, ...],
) -> None:
    available = ", ".join(onnxruntime.get_available_providers())

    with pytest.raises(ProviderError) as caught:
        Translator.open(TINY / "bundle-fp32", providers=providers)

    assert str(caught.value) == (
        f"provider 'cuda' is missing in onnxruntime {onnxruntime.__version__}, which has {available};"
        " install onnxruntime-gpu instead of any other onnxruntime package"
    )


@pytest.mark.usefixtures("_all_are_there")
@pytest.mark.filterwarnings("ignore:Specified provider .* is not in available provider names:UserWarning")
@without_cuda
@pytest.mark.parametrize(
    ("providers", "failing"), [(("cuda", "cpu"), "cuda"), (("tensorrt", "cuda"), "tensorrt")]
)
def test_a_provider_that_does_not_start_is_never_replaced_by_the_cpu(
    bundle: Bundle, providers: tuple[Provider, ...], failing: str
) -> None:
    """What onnxruntime does is take the CPU and warn, also where only CUDA's libraries are missing."""
    with pytest.raises(ProviderError, match=rf"^provider '{failing}' could not start: decoder.onnx"):
        open_session(
            of_precision(bundle, "fp16"), DECODER_FILE, ((), ()), SessionOptions(providers=providers)
        )


@pytest.mark.usefixtures("_all_are_there")
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_a_gpu_takes_fp16_alone(bundle: Bundle, precision: str) -> None:
    with pytest.raises(BundleError, match=rf"precision {precision} does not run on cuda.*--precision fp16"):
        open_session(
            of_precision(bundle, precision), DECODER_FILE, ((), ()), SessionOptions(providers=("cuda",))
        )


class FakeSession:
    """Takes the place of onnxruntime's session, which needs a GPU; keeps the providers it is given."""

    given: list[tuple[str, dict[str, str]]]

    def __init__(
        self, graph: str, settings: object, providers: list[tuple[str, dict[str, str]]], **_: Any
    ) -> None:
        del graph, settings
        type(self).given = providers

    def get_providers(self) -> list[str]:
        return [name for name, _ in self.given]


@pytest.mark.parametrize(
    ("providers", "kernels"),
    [(("cuda",), ["119"]), (("tensorrt", "cuda"), [None, "119"]), (("cuda", "cpu"), ["119", None])],
)
def test_cuda_never_gets_cudnns_attention(
    monkeypatch: pytest.MonkeyPatch, providers: tuple[Provider, ...], kernels: list[str | None]
) -> None:
    """119 is every kind of attention that onnxruntime has a bit for up to 64, but 8: cuDNN's."""
    monkeypatch.setattr(onnxruntime, "InferenceSession", FakeSession)

    new_session(Path(DECODER_FILE), SessionOptions(providers=providers))

    assert [name for name, _ in FakeSession.given] == [EXECUTION_PROVIDERS[name] for name in providers]
    assert [options.get("sdpa_kernel") for _, options in FakeSession.given] == kernels


@pytest.mark.parametrize(("autoregression", "num_per_layer"), [("attention", 4), ("ssru", 3)])
def test_caches_that_the_cpu_would_read_are_found(
    autoregression: str, num_per_layer: int, tmp_path: Path
) -> None:
    """All, where all runs on it: a layer's key and value for the source, and for its past those or a cell."""
    bundle = open_bundle(write(tmp_path, random_model({"autoregression": autoregression}), "fp32"))
    manifest = bundle.manifest
    ports = decoder_inputs(manifest.sizes.decoder_layers, manifest.cache_dtype, manifest.autoregression)
    session = new_session(bundle.file(DECODER_FILE), SessionOptions())

    assert len(caches_read_on_cpu(session, ports)) == num_per_layer * manifest.sizes.decoder_layers


Cuts = st.lists(st.integers(0, 60), unique=True).map(sorted)


def ranges_of(cuts: list[int]) -> list[range]:
    return [range(*pair) for pair in zip(cuts[::2], cuts[1::2], strict=False)]


@given(Cuts, Cuts)
def test_added_is_what_is_there_now_and_was_not_before(now: list[int], before: list[int]) -> None:
    there = {address for present in ranges_of(now) for address in present}
    gone = {address for past in ranges_of(before) for address in past}

    found = [address for part in _new_ranges(ranges_of(now), ranges_of(before)) for address in part]

    assert found == sorted(there - gone)


def test_compacting_keeps_the_content_of_memory() -> None:
    random = np.random.default_rng(3).integers(0, 256, 3 * HUGE_PAGE_BYTES, np.uint8)

    with compacted_memory():
        copy = random.copy()

    np.testing.assert_array_equal(copy, random)


def test_an_error_inside_is_the_callers() -> None:
    with pytest.raises(ValueError, match="not a graph"), compacted_memory():
        raise ValueError("not a graph")


def huge_pages_allowed() -> bool:
    setting = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return setting.is_file() and "[never]" not in setting.read_text(encoding="ascii")


def huge_bytes(address: int) -> int:
    """Of the mapping that an address is in, as Linux counts them."""
    is_inside = False
    for line in Path("/proc/self/smaps").read_text(encoding="ascii", errors="replace").splitlines():
        first = line.split()[0]
        if "-" in first and not first.endswith(":"):
            start, stop = (int(part, 16) for part in first.split("-"))
            is_inside = start <= address < stop
        elif is_inside and first == "AnonHugePages:":
            return int(line.split()[1]) * 1024
    return 0


@pytest.mark.skipif(
    sys.platform != "linux" or not huge_pages_allowed(), reason="the system gives no huge pages"
)
def test_new_memory_is_in_huge_pages_and_old_memory_as_it_was() -> None:
    old = mmap.mmap(-1, 4 * HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    old[:] = b"\1" * len(old)
    before = huge_bytes(np.frombuffer(old, np.uint8).ctypes.data)

    with compacted_memory():
        new = mmap.mmap(-1, 8 * HUGE_PAGE_BYTES, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        new[:] = b"\2" * len(new)

    assert huge_bytes(np.frombuffer(new, np.uint8).ctypes.data) - before >= 4 * HUGE_PAGE_BYTES
    assert new[:] == b"\2" * len(new)
