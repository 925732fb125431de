"""What runs a bundle's graphs, as chosen and as reported."""

import logging
from pathlib import Path

import pytest

from dragoman import KernelsError, Translator
from dragoman.bundle import open_bundle
from dragoman.native.library import best_kernels
from dragoman.providers import Kernels, SessionOptions
from dragoman.search_model import find_kernels, has_native_kernels
from tests.engine.conftest import FP32, INT8

pytestmark = pytest.mark.skipif(not best_kernels(), reason="the kernels are not built, or not for this CPU")
FEWER_THREADS = "a replica has one thread with them, not 2"
OTHER_PRECISION = "its precision is fp32, and kernels are for int8"


@pytest.mark.parametrize(
    ("folder", "threads", "kernels", "name", "reason"),
    [
        (INT8, 1, "auto", best_kernels(), ""),
        (INT8, 1, "native", best_kernels(), ""),
        (INT8, 1, "onnxruntime", "onnxruntime", ""),
        (INT8, 2, "auto", "onnxruntime", FEWER_THREADS),
        (FP32, 1, "auto", "onnxruntime", OTHER_PRECISION),
        (FP32, 1, "onnxruntime", "onnxruntime", ""),
    ],
)
def test_the_kernels_of_a_bundle_are_reported_and_logged_with_their_reason(
    folder: Path, threads: int, kernels: Kernels, name: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "dragoman")

    with Translator.open(folder, replicas=1, threads=threads, kernels=kernels) as translator:
        assert (translator.kernels, translator.why_not_native) == (name, reason)
        assert translator.translate("Ja.").text == "Yes."

    assert find_kernels(open_bundle(folder), SessionOptions(threads), kernels) == (name, reason)
    (line,) = caplog.messages
    assert line.startswith(f"{folder} runs on {name}")
    assert line.endswith(reason or name)


@pytest.mark.parametrize(
    ("folder", "threads", "reason"), [(INT8, 2, FEWER_THREADS), (FP32, 1, OTHER_PRECISION)]
)
def test_required_kernels_that_cannot_run_a_bundle_are_an_error_with_the_reason(
    folder: Path, threads: int, reason: str
) -> None:
    with pytest.raises(KernelsError) as caught:
        Translator.open(folder, replicas=1, threads=threads, kernels="native")
    with pytest.raises(KernelsError):
        find_kernels(open_bundle(folder), SessionOptions(threads), "native")

    assert str(caught.value) == (
        f"{folder}: the native kernels cannot run this bundle: {reason}; choose `auto` or `onnxruntime`"
    )


def test_without_the_library_onnxruntime_runs_all_and_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.native.model.library", lambda: None)

    with Translator.open(INT8, replicas=1) as translator:
        assert translator.kernels == "onnxruntime"
        assert "were not built" in translator.why_not_native
    with pytest.raises(KernelsError, match="were not built"):
        Translator.open(INT8, replicas=1, kernels="native")


def test_without_the_extra_a_gpu_runs_onnxruntime_and_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dragoman.search_model.find_spec", lambda _: None)

    found = find_kernels(open_bundle(FP32), SessionOptions(providers=("cuda",)), "auto")

    assert found == ("onnxruntime", "dragoman[cuda] is not installed")


@pytest.mark.parametrize("kernels", ["auto", "native"])
def test_native_kernels_run_here_what_they_can_unless_the_session_or_the_processor_has_none(
    kernels: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert has_native_kernels(SessionOptions(), kernels)

    assert not has_native_kernels(SessionOptions(), "onnxruntime")
    assert not has_native_kernels(SessionOptions(threads=2), kernels)
    assert not has_native_kernels(SessionOptions(providers=("cuda", "cpu")), kernels)
    monkeypatch.setattr("dragoman.search_model.best_kernels", lambda: "")
    assert not has_native_kernels(SessionOptions(), kernels)
