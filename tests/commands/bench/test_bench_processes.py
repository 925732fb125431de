"""Loads of hostile clients, and benchmarks whose parts run in processes of their own."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from bench import gpu
from bench.clients import RequestOutcome
from bench.contenders import Contender, Worker, running
from bench.hostile import attacks, shares
from bench.hostile.__main__ import load
from bench.hostile.attacks import ATTACKS, MEMORY_KINDS, Source, with_key
from bench.hostile.clients import BEHAVIOURS, Site, record_expected
from bench.hostile.service import SETTINGS, make_site
from bench.hostile.shares import measure_kind
from bench.numbers import ValueOutcome, translate_values
from bench.processes import MIB, run_process
from bench.robustness import __main__ as robustness
from dragoman.bundle import open_bundle
from tests.engine.cuda.half_bundles import write_half
from tests.engine.routing.doubles import write_bundle
from tests.paths import MODELS, TINY
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator

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


TEXTS = ["ein hund", "eine katze", "zwei hunde"]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A server with the engine's double, and keys."""
    bundle = write_bundle(tmp_path / "tiny", "tiny-de-en")
    double = DoubleTranslator(open_bundle(bundle).manifest)
    url = f"sqlite:///{tmp_path / 'accounts.db'}"
    settings: dict[str, Any] = {
        name.removeprefix("DRAGOMAN_").lower(): value for name, value in SETTINGS.items()
    }
    with router_of(double, bundle) as router, ready_client(router, database_url=url, **settings) as client:
        yield make_site(str(client.base_url).rstrip("/"), url)
        double.released.set()


@pytest.mark.parametrize("kind", sorted(MEMORY_KINDS))
def test_the_memory_that_an_attack_imports_fits_the_default_limit_of_a_body(kind: str) -> None:
    [post] = attacks.draw_posts(kind, TEXTS)
    assert len(post.body) < 10 * MIB


@pytest.mark.parametrize("kind", ATTACKS)
def test_an_attack_is_the_same_for_the_same_seed_and_says_its_own_length(kind: str) -> None:
    first, second = (with_key(ATTACKS[kind](Source(Random(3), TEXTS)), "key") for _ in range(2))  # noqa: S311 -- no secret

    assert first == second
    head, _, body = first.partition(b"\r\n\r\n")
    assert f"Content-Length: {len(body)}".encode() in head


def test_ordinary_answers_are_right_among_all_kinds_of_clients(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attacks, "NUM_IMPORTED_PAIRS", 1000)
    known = asyncio.run(record_expected(site, TEXTS))
    assert known["ein hund"] == ("EIN HUND", -0.5)

    record = asyncio.run(load(site, known, clients=2 * len(BEHAVIOURS), seconds=0.0))

    assert record.wrong == []
    assert {one.status for one in record.ordinary} == {200}
    assert record.hostile.keys() == BEHAVIOURS.keys()
    assert {one.status for answers in record.hostile.values() for one in answers} & {500, 504} == set()
    assert {one.status for one in record.hostile["wrong key"]} == {401}


def test_a_large_glossary_is_imported_and_then_used(site: Site) -> None:
    known = asyncio.run(record_expected(site, TEXTS))

    record = asyncio.run(
        load(site, known, clients=3, seconds=60.0, kinds=[attacks.GLOSSARY_KIND], max_requests=200)
    )

    statuses = {one.status for one in record.hostile[attacks.GLOSSARY_KIND]}
    assert statuses == {200, 201}


def test_a_load_ends_after_a_number_of_requests(site: Site) -> None:
    known = asyncio.run(record_expected(site, TEXTS))

    record = asyncio.run(load(site, known, clients=6, seconds=600.0, kinds=["wrong key"], max_requests=20))

    assert 20 <= record.num_requests < 40
