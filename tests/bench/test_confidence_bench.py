"""Figures of `python -m bench.confidence`."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.confidence import calibration, main, mean_ranks, reliability_curve, spearman
from tests.bench.tiny_pairs import PAIRS, write_sides
from tests.paths import TINY


def test_spearman_is_the_correlation_of_the_ranks_of_which_equal_values_have_the_mean() -> None:
    assert mean_ranks(np.array([3.0, 1.0, 3.0, 2.0, 3.0])).tolist() == [4, 1, 4, 2, 4]
    first = np.array([1.0, 2.0, 3.0, 4.0, 5.0])

    # by hand: differences of ranks 1, 1, 0, 0, 0, so 1 - 6 * 2 / (5 * 24)
    assert spearman(first, np.array([20.0, 10.0, 30.0, 40.0, 50.0])) == pytest.approx(0.9)
    # by hand, with a tie: ranks 1.5, 1.5, 3, 4, 5; covariance 9.5, variances 10 and 9.5
    assert spearman(first, np.array([7.0, 7.0, 8.0, 9.0, 10.0])) == pytest.approx(9.5 / 95**0.5)
    assert spearman(first, np.full(5, 2.0)) == 0.0


@given(values=st.lists(st.integers(-50, 50), min_size=2, max_size=20, unique=True))
def test_spearman_of_any_rising_function_is_1_and_of_a_falling_one_minus_1(values: list[int]) -> None:
    array = np.array(values, np.float64)

    assert spearman(array, array**3) == pytest.approx(1)
    assert spearman(array, -np.exp(array / 50)) == pytest.approx(-1)


def test_the_curve_has_mean_confidence_and_good_share_of_each_bin_that_has_lines() -> None:
    confidence = np.array([0.0, 0.05, 0.8, 0.85, 0.9, 1.0])
    is_good = np.array([False, True, True, False, True, True])

    assert reliability_curve(confidence, is_good) == [
        {"bin": "0.0-0.1", "lines": 2, "confidence": 0.025, "good_share": 0.5},
        {"bin": "0.8-0.9", "lines": 2, "confidence": 0.825, "good_share": 0.5},
        {"bin": "0.9-1.0", "lines": 2, "confidence": 0.95, "good_share": 1.0},
    ]


def test_high_confidence_counts_from_0_8_and_a_good_translation_from_chrf_50() -> None:
    found = calibration(np.array([0.79, 0.8, 0.9, 1.0]), np.array([90.0, 49.9, 50.0, 99.0]))

    assert (found["high"], found["high_good_share"]) == (3, round(2 / 3, 4))
    # by hand: |0.79 - 1|, |0.8 - 0| and twice |0.95 - 1|, over 4 lines
    assert found["calibration_error"] == pytest.approx((0.21 + 0.8 + 0.1) / 4, abs=1e-4)
    low = calibration(np.array([0.1, 0.2]), np.array([90.0, 10.0]))
    assert (low["high"], low["high_good_share"]) == (0, None)


def test_the_command_measures_a_bundle_and_says_whether_the_bar_is_reached(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(TINY / "bundle-int8", tmp_path / "tiny")
    statuses = []
    for name, pairs in {"known": PAIRS, "wrong": [(de, en[::-1]) for de, en in PAIRS]}.items():
        command = ["x", str(tmp_path / "tiny"), "--pairs", *write_sides(tmp_path, name, pairs)]
        monkeypatch.setattr(sys, "argv", [*command, "--output", str(tmp_path / f"{name}.json")])
        statuses.append(main())

    known, wrong = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("known", "wrong"))
    assert statuses == [0, 1]
    assert (known["lines"], known["good_share"], known["map"]) == (50, 1.0, None)
    assert known["confidence"] == known["token_probability"]
    assert wrong["confidence"]["high_good_share"] < 0.1
    assert known["provenance"]["command"].endswith("--pairs known.de known.en")
    assert "50 lines of known that the map was not fitted on" in capsys.readouterr().out
