"""The whole engine on the kernels for GPUs, in Triton's interpreter."""

from functools import partial
from pathlib import Path

import onnxruntime
import pytest
import torch

from dragoman import DecodingOptions, KernelsError, Translator
from dragoman.bundle import open_bundle
from dragoman.cuda import backend, model
from dragoman.cuda.backend import CudaBackend
from dragoman.cuda.memory import MAX_BEAMS
from dragoman.decoding.options import Sampling
from dragoman.providers import SessionOptions
from dragoman.search_model import find_kernels
from tests.engine.cuda.cuda_models import DEVICE
from tests.engine.cuda.half_bundles import write_half

CUDA = SessionOptions(providers=("cuda",))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("half") / "bundle"
    return write_half(path, source_vocab_size=360, target_vocab_size=360)


@pytest.fixture
def translator(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Translator:
    monkeypatch.setattr(backend, "CudaBackend", partial(CudaBackend, device=DEVICE))
    return Translator.open(folder, providers=("cuda",), replicas=1, kernels="native")


def test_texts_are_translated_and_what_the_kernels_do_not_know_runs_on_onnxruntime(
    translator: Translator, folder: Path
) -> None:
    texts = ["Ja.", "Nein danke."]
    everything = (
        DecodingOptions(beam_size=1),
        DecodingOptions(beam_size=2, return_alignment=True),
        DecodingOptions(beam_size=MAX_BEAMS + 1),
        DecodingOptions(sampling=Sampling(seed=3)),
    )
    with translator, Translator.open(folder, replicas=1) as reference:
        assert translator.kernels.startswith("cuda-")
        assert not translator.why_not_native
        for options in everything:
            found = [list(each.translate(texts, options)) for each in (translator, reference)]
            assert [one.text for one in found[0]] == [one.text for one in found[1]]  # type: ignore[union-attr]


def test_an_error_of_the_device_ends_its_requests_and_not_the_engine(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    with translator:
        with monkeypatch.context() as patch:
            patch.setattr(model.CudaModel, "steps", fail)
            with pytest.raises(RuntimeError, match="illegal memory access"):
                translator.translate("Ja.", DecodingOptions(beam_size=1))
        assert translator.translate("Ja.", DecodingOptions(beam_size=1)).text


@pytest.fixture
def _on_an_h100(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (9, 0))
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CPUExecutionProvider"])


@pytest.mark.usefixtures("_on_an_h100")
def test_auto_takes_the_kernels_where_they_have_been_measured_and_says_why_it_does_not(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = open_bundle(folder)
    measured = open_bundle(write_half(tmp_path / "bundle", heads=8, d_model=256))
    assert find_kernels(measured, CUDA, "auto") == ("cuda-sm90", "")
    assert find_kernels(small, CUDA, "native") == ("cuda-sm90", "")
    assert find_kernels(small, CUDA, "onnxruntime") == ("onnxruntime", "")

    found = find_kernels(small, CUDA, "auto")
    assert found == ("onnxruntime", "2 heads of 16 have not been measured: `native` chooses them")
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ["CUDAExecutionProvider"])
    assert "beside onnxruntime-gpu" in find_kernels(measured, CUDA, "auto")[1]
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: (8, 0))
    assert "have not been measured on cuda-sm80" in find_kernels(measured, CUDA, "auto")[1]
    assert find_kernels(measured, CUDA, "native") == ("cuda-sm80", "")


@pytest.mark.skipif(DEVICE == "cuda", reason="there is a GPU")
def test_required_kernels_without_a_gpu_are_an_error(folder: Path) -> None:
    with pytest.raises(KernelsError, match="PyTorch finds no NVIDIA GPU"):
        find_kernels(open_bundle(folder), CUDA, "native")
    with pytest.raises(KernelsError, match="PyTorch finds no NVIDIA GPU"):
        Translator.open(folder, providers=("cuda",), kernels="native")
