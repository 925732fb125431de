"""Throughput on a provider, and the measurement of the kernels for GPUs."""

import itertools
import json
from pathlib import Path
from typing import Any

import onnxruntime
import pytest

from bench.throughput import main
from dragoman import DecodingOptions, ProviderError, Translator
from tests.paths import TINY

BUNDLE = TINY / "bundle-fp32"
FEW = ["--provider", "cpu", "--lines", "9", "--rounds", "1", "--calls", "1", "4", "--callers", "2"]


def test_every_batch_and_beam_size_is_measured_and_says_where(tmp_path: Path) -> None:
    output = tmp_path / "throughput.json"

    main([str(BUNDLE), *FEW, "--output", str(output)])

    result = json.loads(output.read_text(encoding="utf8"))
    measured = [tuple(each["setting"].values()) for each in result["results"]]
    assert measured == list(itertools.product((1, 4), (1, 4), (2,)))
    assert all(each["median_sentences_per_s"] > 0 for each in result["results"])
    assert (result["providers"], result["sentences"]) == ("cpu", 9)
    assert "--provider cpu" in result["provenance"]["command"]


def test_no_text_is_translated_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in another round or setting, nor after the run that only warms up."""
    seen: list[str] = []
    translate = Translator.translate

    def record(self: Translator, texts: list[str], options: DecodingOptions) -> Any:
        seen.extend(texts)
        return translate(self, texts, options)

    monkeypatch.setattr(Translator, "translate", record)

    main([str(BUNDLE), *FEW, "--rounds", "2", "--beams", "1"])

    assert len(seen) == 2 * (8 + 2 * 9)
    assert len(set(seen)) == len(seen)


@pytest.mark.skipif(
    "CUDAExecutionProvider" in onnxruntime.get_available_providers(), reason="CUDA is in this onnxruntime"
)
def test_another_provider_is_never_measured_in_its_place() -> None:
    with pytest.raises(ProviderError, match="onnxruntime-gpu"):
        main([str(BUNDLE), "--provider", "cuda,cpu", "--lines", "1", "--rounds", "1"])
