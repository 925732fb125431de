"""Clients that wait for responses or come when they come, and what is measured of them."""

import asyncio
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.arrivals import closed_loop, open_loop, poisson_arrivals
from bench.clients import percentile, read_texts


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


def test_texts_are_drawn_in_a_fixed_order_and_repeat_after_the_last_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "de.txt"
    path.write_text("\n".join(f"Satz {number}." for number in range(20)), encoding="utf8")

    texts = read_texts(path, 45)

    assert texts == read_texts(path, 45)
    assert len(set(texts[:20])) == 20
    assert texts[20:40] == texts[:20]
