import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.batching.batches import plan_batches

LENGTHS = st.lists(st.integers(1, 60), max_size=80)
BUDGETS = st.integers(1, 300)
ROWS = st.integers(1, 12)


def padded(batch: list[int], lengths: list[int]) -> int:
    return len(batch) * max(lengths[index] for index in batch)


@given(LENGTHS, BUDGETS, ROWS)
def test_every_source_is_in_exactly_one_batch(lengths: list[int], budget: int, rows: int) -> None:
    planned = list(itertools.chain.from_iterable(plan_batches(lengths, budget, rows)))

    assert sorted(planned) == list(range(len(lengths)))


@given(LENGTHS, BUDGETS, ROWS)
def test_no_batch_exceeds_the_budget_but_a_single_long_source(
    lengths: list[int], budget: int, rows: int
) -> None:
    for batch in plan_batches(lengths, budget, rows):
        assert 1 <= len(batch) <= rows
        assert padded(batch, lengths) <= budget or len(batch) == 1


@given(LENGTHS, BUDGETS, ROWS)
def test_sources_run_longest_first_and_equals_as_given(lengths: list[int], budget: int, rows: int) -> None:
    planned = list(itertools.chain.from_iterable(plan_batches(lengths, budget, rows)))

    assert planned == sorted(planned, key=lambda index: (-lengths[index], index))


@given(LENGTHS, BUDGETS, ROWS)
def test_a_batch_ends_only_where_the_next_source_does_not_fit(
    lengths: list[int], budget: int, rows: int
) -> None:
    for batch, following in itertools.pairwise(plan_batches(lengths, budget, rows)):
        one_more = [*batch, following[0]]

        assert len(one_more) > rows or padded(one_more, lengths) > budget


@given(st.lists(st.integers(1, 60), min_size=1, max_size=80), BUDGETS, ROWS)
def test_padding_is_bounded(lengths: list[int], budget: int, rows: int) -> None:
    batches = plan_batches(lengths, budget, rows)
    padding = sum(padded(batch, lengths) for batch in batches) - sum(lengths)

    assert padding <= max(map(len, batches)) * (max(lengths) - min(lengths))


def test_a_worked_example() -> None:
    lengths = [3, 9, 4, 40, 4, 8]

    assert plan_batches(lengths, 18, 3) == [[3], [1, 5], [2, 4, 0]]


def test_no_sources_make_no_batches() -> None:
    assert plan_batches([], 100, 4) == []


@pytest.mark.parametrize(("budget", "rows"), [(0, 1), (1, 0), (-5, 3)])
def test_limits_that_admit_nothing_are_an_error(budget: int, rows: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        plan_batches([1], budget, rows)
