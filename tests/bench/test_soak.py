"""What a soak says of latencies, memory and refusals, from records made by hand; and a short one."""

import json
import os
import sys
from pathlib import Path

import pytest

from bench import soak
from bench.clients import RequestOutcome, read_texts
from bench.processes import MIB, MemorySample
from bench.soak import compare, served_within, slope_bytes_per_s, summarise_load, summarise_memory, timeline

PROJECT = Path(__file__).parents[2]
TINY_BUNDLE = PROJECT / "tests" / "tiny" / "bundle-int8"


def test_errors_have_no_latency_and_are_not_counted_in_the_rate() -> None:
    answered = [RequestOutcome(number, 0.001 * number, 200) for number in range(1, 101)]
    answered += [RequestOutcome(50, 9.0, 500), RequestOutcome(50, 9.0, 0), RequestOutcome(50, 9.0, 429)]

    summary = summarise_load(answered)

    assert summary["statuses"] == {"0": 1, "200": 100, "429": 1, "500": 1}
    assert (summary["requests"], summary["errors"]) == (103, 3)
    assert summary["texts_per_s"] == 1.0
    assert (summary["p50_ms"], summary["p95_ms"], summary["p99_ms"]) == (50.0, 95.0, 99.0)
    assert summarise_load([RequestOutcome(1.0, 1.0, 0)])["p99_ms"] is None


def test_memory_is_told_at_the_start_after_a_minute_and_at_the_end() -> None:
    seen = [MemorySample(float(second), (100 + min(second, 10)) * MIB) for second in range(601)]

    memory = summarise_memory(seen)

    assert (memory["start_mib"], memory["one_minute_mib"], memory["end_mib"]) == (100.0, 110.0, 110.0)
    assert memory["most_mib"] == 110.0
    assert memory["slope_mib_per_hour"] == 0.0  # it grew while it was warming up alone


def test_the_slope_is_that_of_the_line_through_the_points() -> None:
    rising = [MemorySample(t, int(1000 + 3 * t)) for t in (0.0, 1.0, 5.0)]

    assert slope_bytes_per_s(rising) == pytest.approx(3.0)
    assert slope_bytes_per_s([MemorySample(1.0, 5)]) == 0.0


def test_the_timeline_has_every_answer_once_and_the_memory_of_its_time() -> None:
    answered = [RequestOutcome(at, 0.01 * at, 200) for at in (0.5, 1.0, 1.5, 3.9)]
    seen = [MemorySample(float(second), second * MIB) for second in range(5)]

    rows = timeline(answered, seen, bins=4)

    assert [row["texts_per_s"] for row in rows] == [2.0, 1.0, 0.0, 1.0]
    assert [row["p50_ms"] for row in rows] == [5.0, 15.0, None, 39.0]
    assert rows[-1]["resident_mib"] in (3.0, 4.0)


def test_the_service_is_compared_with_the_engine_before_and_after() -> None:
    served = {"texts_per_s": 90.0, "cpu_ms_per_text": {"server": 12.0}}

    found = compare(served, {"texts_per_s": [80.0, 120.0], "cpu_ms_per_text": [8.0, 10.0]})

    assert found == {"served_to_engine": 0.9, "served_to_engine_for_cpu_time": 0.75}


def test_refusals_are_timed_by_the_servers_own_buckets() -> None:
    def bucket(le: str, count: int, route: str = "/v1/translate", status: str = "4xx") -> str:
        labels = f'api="native",le="{le}",route="{route}",status="{status}"'
        return f"dragoman_request_seconds_bucket{{{labels}}} {count}"

    lines = [
        "# TYPE dragoman_request_seconds histogram",
        bucket("0.005", 3),
        bucket("0.1", 4),
        bucket("+Inf", 4),
        bucket("0.005", 9, status="2xx"),
        bucket("+Inf", 9, status="2xx"),
        bucket("+Inf", 7, route="/readyz"),
    ]

    found = served_within("\n".join(lines) + "\n", status="4xx")

    assert found == {"count": 4, "within_ms": {"5": 0.75, "100": 1.0}}


def test_texts_are_drawn_in_the_same_order_each_time_and_repeat_only_when_all_had_their_turn(
    tmp_path: Path,
) -> None:
    path = tmp_path / "de.txt"
    path.write_text("\n".join(f"Satz {number}." for number in range(20)), encoding="utf8")

    texts = read_texts(path, 45)

    assert texts == read_texts(path, 45)
    assert len(set(texts[:20])) == 20
    assert texts[20:40] == texts[:20]
    assert read_texts(path, 6, sentences_per_text=3) == ["\n".join(texts[:3]), "\n".join(texts[3:6])]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="server and engine take two CPUs")
@pytest.mark.timeout(120)
def test_a_short_soak_finds_no_errors_and_writes_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "soak.json"
    options = ["--clients", "4", "--minutes", "0.02", "--engine-sentences", "40", "--output", str(output)]
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(sys, "argv", ["soak", str(TINY_BUNDLE), *options])

    assert soak.main() == 0

    result = json.loads(output.read_text(encoding="utf8"))
    served = result["served"]
    assert served["statuses"].keys() == {"200"}
    assert served["requests"] > 0
    assert served["cpu_ms_per_text"]["server"] > 0
    assert set(result["refusing"]["statuses"]) <= {"200", "429"}
    assert result["refusing"]["refused_by_server"]["count"] == result["refusing"]["refused"]
    assert served["memory"]["end_mib"] > 0
