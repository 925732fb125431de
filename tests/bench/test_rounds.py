"""Medians, spreads and ratios of interleaved rounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.rounds import Spread, speed_ratios, spread, turn

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


def test_every_engine_begins_a_round_once_in_as_many_rounds_as_there_are() -> None:
    names = ["a", "b", "c"]

    orders = [turn(names, number) for number in range(3)]

    assert [order[0] for order in orders] == names
    assert all(sorted(order) == names for order in orders)
