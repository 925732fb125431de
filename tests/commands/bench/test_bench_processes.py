"""Benchmarks whose parts run in processes of their own."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import gpu
from bench.clients import RequestOutcome
from bench.contenders import Contender, Worker, running
from bench.hostile import shares
from bench.hostile.clients import Site
from bench.hostile.shares import measure_kind
from bench.numbers import ValueOutcome, translate_values
from bench.processes import run_process
from bench.robustness import __main__ as robustness
from tests.commands.bench.conftest import TEXTS
from tests.engine.cuda.half_bundles import write_half
from tests.paths import MODELS, TINY

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


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    with running([Contender("Dragoman int8", "dragoman", TINY / "bundle-int8")], workers=1) as started:
        yield started["Dragoman int8"]


def test_every_source_gets_as_many_tokens_as_forced(worker: Worker) -> None:
    batches: list[list[list[int]]] = [[[10, 11, 12, 3], [20, 3]], [[9, 3]]]
    search = {"beam_size": 2, "min_length": 5, "max_length": 5}

    reply = worker.ask({"batches": batches, "search": search})

    assert [[len(ids) for ids in batch] for batch in reply["outputs"]] == [[5, 5], [5]]


LARGE_BYTES = 150 * 2**20
HOLD = f"import time; held = bytearray(b'x' * {LARGE_BYTES}); time.sleep(0.5)"
START = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLD!r}], check=True)"


@pytest.mark.parametrize("code", [HOLD, START], ids=["its own", "of a process that it starts"])
def test_the_peak_is_that_of_the_largest_process(code: str) -> None:
    measured = run_process(sys.executable, "-c", code)

    assert 2 * LARGE_BYTES <= measured.peak_bytes < 3 * LARGE_BYTES  # the bytes and their copy


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "num_values", [pytest.param(30, id="some"), pytest.param(10_000, id="all", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("pair", [("de", "en"), ("en", "de")], ids="-".join)
def test_no_random_value_changes_silently(pair: tuple[str, str], num_values: int) -> None:
    """Ten thousand values a direction take some eight minutes."""
    trials = translate_values(MODELS / "-".join(pair), pair, num_values)

    assert [trial for trial in trials if trial.outcome is ValueOutcome.CHANGED] == []


def test_the_result_has_every_beam_size_and_kind_and_says_where_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "robustness.json"
    monkeypatch.setattr(sys, "argv", ["robustness", str(TINY / "bundle-fp32"), "--output", str(output)])

    robustness.main()

    written = json.loads(output.read_text(encoding="utf8"))
    greedy, beam = written["results"]
    assert written["provenance"]["bundle"] == "bundle-fp32"
    assert (greedy["beam_size"], beam["beam_size"]) == (1, 4)
    assert sum(kind["inputs"] for kind in greedy["kinds"].values()) == greedy["all"]["inputs"]
    assert len(beam["failures"]) == round((1 - beam["all"]["good"]) * beam["all"]["inputs"])
    assert "de -> en, beam 4" in capsys.readouterr().out
