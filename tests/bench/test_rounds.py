"""Medians, spreads and ratios of rounds, sums and tables, loads of clients, and throughput."""

import asyncio
import itertools
import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.clients import percentile, read_texts
from bench.offline import Setting, check_weights, summarise
from bench.online import closed_loop, open_loop, poisson_arrivals
from bench.rounds import Spread, interleave, speed_ratios, spread
from bench.throughput import main
from bench.workloads import Workload
from dragoman import DecodingOptions, ProviderError, Translator
from tests.paths import TINY

SECONDS = st.floats(1e-3, 1e3)


def test_a_speed_is_the_median_of_ratios_and_not_the_ratio_of_medians() -> None:
    # Twice as fast in every round, on a machine that slows down tenfold in one of them.
    assert speed_ratios([1.0, 10.0, 2.0], [2.0, 20.0, 4.0]) == Spread(2.0, 2.0, 2.0)
    # Medians would say 3 / 2; round by round it is 1/2, 3 and 5.
    assert speed_ratios([2.0, 1.0, 2.0], [1.0, 3.0, 10.0]) == Spread(3.0, 0.5, 5.0)


@given(st.lists(st.tuples(SECONDS, SECONDS, SECONDS), min_size=1))
def test_a_drift_that_meets_both_engines_does_not_change_their_ratio(
    rounds: list[tuple[float, float, float]],
) -> None:
    ours, theirs = [one for one, _, _ in rounds], [one for _, one, _ in rounds]
    slowed = [one * drift for one, _, drift in rounds], [one * drift for _, one, drift in rounds]

    assert speed_ratios(*slowed).median == pytest.approx(speed_ratios(ours, theirs).median)


def test_rounds_must_be_as_many_for_both() -> None:
    with pytest.raises(ValueError, match="shorter"):
        speed_ratios([1.0, 2.0], [1.0, 2.0, 3.0][:1])


def test_a_spread_names_the_middle_and_both_ends() -> None:
    assert spread([5.0, 1.0, 4.0]) == Spread(median=4.0, least=1.0, most=5.0)


def test_every_case_is_measured_once_a_round_and_each_name_begins_one_of_the_rounds() -> None:
    calls: list[tuple[int, str, int]] = []

    found = interleave([7, 8], ["a", "b"], 2, lambda *call: calls.append(call))

    assert calls == [
        *((7, "a", 0), (7, "b", 0), (8, "a", 0), (8, "b", 0)),
        *((7, "b", 1), (7, "a", 1), (8, "b", 1), (8, "a", 1)),
    ]
    assert found == {(case, name): [None, None] for case in (7, 8) for name in ("a", "b")}


def rows() -> list[dict[str, Any]]:
    """Two rounds: the reference took 4 and 2 seconds for two sentences, we 2 and 2."""
    setting = Setting(workers=1, batch=1, beam_size=1)
    ours, reference = [(2.0, 10), (2.0, 10)], [(4.0, 8), (2.0, 8)]
    measured = {(setting, "Dragoman int8"): ours, (setting, "CTranslate2 int8"): reference}
    return summarise(measured, Workload([[5, 3], [5, 6, 3]]), least_sentences=2)


def test_a_row_gives_time_a_sentence_tokens_a_second_and_speed_beside_the_reference() -> None:
    ours, reference = rows()

    assert ours["ms_per_sentence"] == {"median": 1000.0, "least": 1000.0, "most": 1000.0}
    assert ours["target_tokens_per_s"]["median"] == 5.0
    assert ours["speed"] == {"median": 1.5, "least": 1.0, "most": 2.0}
    assert reference["speed"] == {"median": 1.0, "least": 1.0, "most": 1.0}
    assert (ours["sentences"], ours["source_tokens"]) == (2, 5)


def test_an_fp32_engine_with_other_greedy_outputs_has_other_weights_and_is_not_timed() -> None:
    good = [{"engine": "CTranslate2 fp32", "beam_size": 1, "equal_to_fp32": 0.95}]
    others = [{"engine": "CTranslate2 fp32", "beam_size": 4, "equal_to_fp32": 0.5}]
    others += [{"engine": "CTranslate2 int8", "beam_size": 1, "equal_to_fp32": 0.5}]
    check_weights([*good, *others])

    with pytest.raises(SystemExit, match="CTranslate2 fp32: 94%"):
        check_weights([{**good[0], "equal_to_fp32": 0.94}])


async def respond(text: str) -> int:
    return 503 if text == "bad" else 200


def test_a_failed_request_is_an_error_and_has_no_latency() -> None:
    texts = ["good", "bad", "good"]

    for running in (closed_loop(respond, texts, clients=2), open_loop(respond, texts, rate=1e4, seed=1)):
        load = asyncio.run(running)
        assert (load.requests, load.errors, len(load.latencies_s)) == (3, 1, 2)


def test_a_request_that_is_sent_late_has_waited_since_it_was_due() -> None:
    async def block(_text: str) -> int:
        time.sleep(0.01)  # noqa: ASYNC251 -- so that the next ones are sent late
        return 200

    load = asyncio.run(open_loop(block, ["a"] * 10, rate=1e6, seed=1))

    assert max(load.latencies_s) >= 0.1


def test_arrivals_are_a_poisson_process_of_the_rate_requested_and_the_same_for_the_same_seed() -> None:
    arrivals = poisson_arrivals(rate=50.0, count=20_000, seed=3)

    assert arrivals == poisson_arrivals(rate=50.0, count=20_000, seed=3)
    assert arrivals[-1] == pytest.approx(20_000 / 50.0, rel=0.05)
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    assert min(gaps) >= 0
    # An exponential gap is longer than its mean with probability 1/e.
    assert sum(gap > 1 / 50.0 for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.02)


@given(st.lists(st.floats(0, 1e6), min_size=1), st.floats(0.01, 1.0))
def test_a_percentile_is_the_smallest_value_that_the_share_does_not_exceed(
    values: list[float], share: float
) -> None:
    found = percentile(values, share)

    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < share * len(values) + 1e-9


def test_texts_are_drawn_in_a_fixed_order_and_repeat_after_the_last_one(tmp_path: Path) -> None:
    path = tmp_path / "de.txt"
    path.write_text("\n".join(f"Satz {number}." for number in range(20)), encoding="utf8")

    texts = read_texts(path, 45)

    assert texts == read_texts(path, 45)
    assert len(set(texts[:20])) == 20
    assert texts[20:40] == texts[:20]


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
