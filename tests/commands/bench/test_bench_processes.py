"""Benchmarks whose parts run in processes of their own."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench import gpu
from bench.clients import RequestOutcome
from bench.hostile import shares
from bench.hostile.clients import Site
from bench.hostile.shares import measure_kind
from tests.bench.test_hostile import TEXTS
from tests.engine.cuda.half_bundles import write_half

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


def test_small_requests_and_jobs_are_compared_with_those_beside_an_attack(site: Site) -> None:
    compared = measure_kind(site, "wrong key", TEXTS, clients=2, seconds=0.2)

    figures = shares.summarise({"wrong key": compared})["kinds"]["wrong key"]
    assert not compared.beside.has_failed
    assert figures["jobs"]["p99_ratio"] > 0
    assert figures["attack"].keys() == {"401"}
    compared.beside.jobs.append(RequestOutcome(1, 1, 503))
    assert compared.beside.has_failed
