"""Clients that wait and clients that come when they come."""

from concurrent.futures import Future
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.arrivals import closed_loop, open_loop, percentile, poisson_arrivals


def answered(text: str) -> "Future[str]":
    future: Future[str] = Future()
    if text == "bad":
        future.set_exception(ValueError(text))
    else:
        future.set_result(text)
    return future


def rejected_if_bad(text: str) -> "Future[str]":
    if text == "bad":
        raise ValueError(text)
    return answered(text)


@pytest.mark.parametrize("submit", [answered, rejected_if_bad])
def test_a_failed_and_a_rejected_request_are_errors_and_have_no_latency(submit: object) -> None:
    assert callable(submit)
    texts = ["good", "bad", "good"]

    for load in (closed_loop(submit, texts, clients=2), open_loop(submit, texts, rate=1e4, seed=1)):
        assert (load.requests, load.errors, len(load.latencies_s)) == (3, 1, 2)


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
