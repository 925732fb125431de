"""Throughput on a provider, and the measurement of the kernels for GPUs."""

import itertools
import json
from pathlib import Path
from typing import Any

import onnxruntime
import pytest

from bench import gpu
from bench.throughput import main
from dragoman import DecodingOptions, ProviderError, Translator
from tests.engine.cuda.half_bundles import write_half
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


WORDS = ["--device", "cpu", "--batches", "2", "1"]


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("half") / "bundle"
    return write_half(folder, source_vocab_size=360, target_vocab_size=360)


def results(
    bundle: Path, output: Path, monkeypatch: pytest.MonkeyPatch, limits_s: dict[str, float]
) -> list[dict[str, Any]]:
    monkeypatch.setattr(gpu, "PART_LIMITS_S", limits_s)
    sentences = output.with_suffix(".txt")
    sentences.write_text("Ja.\nNein.\n", encoding="utf8")
    gpu.main([str(bundle), *WORDS, "--sentences", str(sentences), "--output", str(output)])
    found: list[dict[str, Any]] = json.loads(output.read_text(encoding="utf8"))["results"]
    return found


def test_parts_run_in_processes_of_their_own_and_their_rows_are_written(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here on onnxruntime, since there is no GPU."""
    rows = results(bundle, tmp_path / "gpu.json", monkeypatch, {"translate": 100, "parity": 100})

    assert {row["part"] for row in rows} == {"translate", "parity"}
    measured = {(row["batch"], row["beam_size"]) for row in rows if row["row"] == "text to text"}
    assert measured == {(2, 1), (2, 4), (1, 1), (1, 4)}
    assert all(row["sentences_per_s"] > 0 for row in rows if "sentences_per_s" in row)
    assert [row["same_ids"] for row in rows if row["part"] == "parity"] == [2, 2]


def test_a_part_that_outlasts_its_time_fails_and_the_next_one_runs(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = results(bundle, tmp_path / "gpu.json", monkeypatch, {"translate": 0.05, "parity": 100})

    assert rows[0] == {"part": "translate", "row": "failed", "reason": "time limit"}
    assert {row["part"] for row in rows[1:]} == {"parity"}
