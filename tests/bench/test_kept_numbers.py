"""Numbers and identifiers never change silently, with the bundled models."""

from pathlib import Path

import pytest

from bench.numbers import Outcome, translate_values

MODELS = Path(__file__).parents[2] / "models"


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "num_values", [pytest.param(100, id="some"), pytest.param(10_000, id="all", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("pair", [("de", "en"), ("en", "de")], ids="-".join)
def test_no_random_value_changes_silently(pair: tuple[str, str], num_values: int) -> None:
    """Ten thousand values a direction take some eight minutes."""
    trials = translate_values(MODELS / "-".join(pair), pair, num_values)

    assert [trial for trial in trials if trial.outcome is Outcome.CHANGED] == []
