"""What a load of hostile clients says of ordinary ones, from records made by hand."""

import pytest

from bench.clients import NO_RESPONSE, RequestOutcome
from bench.hostile import shares
from bench.hostile.__main__ import has_failed, summarise, summarise_memory
from bench.hostile.clients import LEFT, Record
from bench.processes import MIB, MemorySample

SEEN = [MemorySample(float(second), (100 + second) * MIB) for second in range(10)]


@pytest.mark.parametrize(
    ("record", "wrong_afterwards"),
    [
        (Record(ordinary=[RequestOutcome(1, 1, 200)], wrong=["a"]), 0),
        (Record(ordinary=[RequestOutcome(1, 1, NO_RESPONSE)]), 0),
        (Record(ordinary=[RequestOutcome(1, 1, 500)]), 0),
        (Record(hostile={"bad JSON": [RequestOutcome(1, 1, 500)]}), 0),
        (Record(ordinary=[RequestOutcome(1, 1, 200)]), 1),
    ],
    ids=["wrong", "lost", "failed", "failed for another", "wrong afterwards"],
)
def test_a_load_fails_if_an_answer_is_wrong_or_lost_or_the_server_fails(
    record: Record, wrong_afterwards: int
) -> None:
    assert has_failed(summarise(record, SEEN, 0, wrong_afterwards))


def test_rejections_and_disconnections_do_not_fail_a_load() -> None:
    hostile = {
        "leaving": [RequestOutcome(1, 1, LEFT)],
        "bad JSON": [RequestOutcome(1, 1, 400), RequestOutcome(1, 1, NO_RESPONSE)],
    }

    record = Record([RequestOutcome(1, 0.5, 200), RequestOutcome(2, 1, 429)], [], hostile)

    summary = summarise(record, SEEN, 0, 0)

    assert not has_failed(summary)
    assert summary["ordinary"] == {
        "requests": 2,
        "wrong": 0,
        "lost": 0,
        "wrong_afterwards": 0,
        "statuses": {"200": 1, "429": 1},
        "p50_ms": 500.0,
        "p99_ms": 500.0,
    }
    assert summary["hostile"] == {
        "bad JSON": {"requests": 2, "statuses": {"400": 1, "no answer": 1}, "p99_ms": 1000.0},
        "leaving": {"requests": 1, "statuses": {"left": 1}, "p99_ms": 1000.0},
    }


def test_memory_is_compared_between_the_second_third_of_the_time_and_the_last() -> None:
    memory = summarise_memory(SEEN)

    assert (memory["second_third_mib"], memory["last_third_mib"]) == (104.0, 107.5)
    assert (memory["start_mib"], memory["end_mib"], memory["most_mib"]) == (100.0, 109.0, 109.0)


def test_memory_is_reported_after_a_minute() -> None:
    seen = [MemorySample(float(second), (100 + min(second, 10)) * MIB) for second in range(601)]

    assert summarise_memory(seen)["one_minute_mib"] == 110.0


def test_latencies_alone_are_those_of_all_kinds_together() -> None:
    quick, slow = (shares.SmallLoad(Record(ordinary=[RequestOutcome(1, seconds, 200)])) for seconds in (1, 2))
    beside = shares.SmallLoad(Record(ordinary=[RequestOutcome(1, 6, 200)]))

    figures = shares.summarise(
        {"a": shares.Comparison(quick, beside, {}), "b": shares.Comparison(slow, beside, {})}
    )

    assert figures["alone"]["requests"]["statuses"] == {"200": 2}
    assert figures["kinds"]["a"]["requests"]["p99_ratio"] == 3.0
