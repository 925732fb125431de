"""Batches at once: results in order, errors out, threads used."""

import threading

import pytest

from dragoman.batching.pool import BatchPool


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_the_order_of_the_batches(workers: int) -> None:
    assert BatchPool(workers).map(lambda number: number * number, range(20)) == [n * n for n in range(20)]


def test_as_many_batches_run_at_once_as_there_are_workers() -> None:
    barrier = threading.Barrier(3, timeout=20)

    places = BatchPool(3).map(lambda _: barrier.wait(), range(3))

    assert sorted(places) == [0, 1, 2]


@pytest.mark.parametrize("workers", [1, 3])
def test_an_error_in_a_batch_is_raised(workers: int) -> None:
    def run(number: int) -> int:
        if number == 4:
            raise RuntimeError("batch 4")
        return number

    pool = BatchPool(workers)
    with pytest.raises(RuntimeError, match="batch 4"):
        pool.map(run, range(9))

    assert pool.map(run, [1, 2]) == [1, 2], "the pool is of use afterwards"


def test_no_workers_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, not 0"):
        BatchPool(0)
