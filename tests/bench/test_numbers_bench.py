"""Random values, and what is reported of their translations."""

import re
from random import Random

import pytest

from bench.numbers import FRAMES, Value, ValueOutcome, draw_value, judge, translate_values
from tests.paths import MODELS


@pytest.mark.parametrize(("source", "target"), [("de", "en"), ("en", "de")])
def test_a_value_is_kept_as_it_is_and_with_the_targets_signs(source: str, target: str) -> None:
    """In any frame, and only whole."""
    random = Random(1)  # noqa: S311 -- draws samples
    frames = re.split(r"[|\n]", FRAMES[target])
    assert len(frames) == len(set(frames)) == 50

    for i in range(1000):
        value = draw_value(random, source, target)
        frame = frames[i % len(frames)]

        for form in value.forms:
            assert judge(value, frame.format(form), is_reported=False) is ValueOutcome.KEPT
            assert judge(value, frame.format(f"{form}7"), is_reported=False) is ValueOutcome.CHANGED


def test_a_value_that_is_gone_was_reported_or_changed_silently() -> None:
    """The same translation counts as either."""
    value = Value("number", "2643333", frozenset(("2643333", "2,643,333")))

    assert judge(value, "It costs 264333 euros.", is_reported=True) is ValueOutcome.FLAGGED
    assert judge(value, "It costs 264333 euros.", is_reported=False) is ValueOutcome.CHANGED


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "num_values", [pytest.param(100, id="some"), pytest.param(10_000, id="all", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("pair", [("de", "en"), ("en", "de")], ids="-".join)
def test_no_random_value_changes_silently(pair: tuple[str, str], num_values: int) -> None:
    """Ten thousand values a direction take some eight minutes."""
    trials = translate_values(MODELS / "-".join(pair), pair, num_values)

    assert [trial for trial in trials if trial.outcome is ValueOutcome.CHANGED] == []
