"""Medians, spreads and ratios of interleaved rounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.rounds import Spread, interleave, speed_ratios, spread

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
