"""Medians, spreads and ratios of interleaved rounds; sums, shares and tables, made by hand."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.offline import Setting, check_weights, summarise
from bench.rounds import Spread, interleave, speed_ratios, spread
from bench.workloads import Workload

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
