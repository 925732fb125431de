"""Random values and other spellings, and what is said of their translations."""

import re
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.numbers import FRAMES, Outcome, Value, draw_value, judge, translate_values
from bench.spelling import SEED, emphasise, spelling_table


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
            assert judge(value, frame.format(form), is_reported=False) is Outcome.KEPT
            assert judge(value, frame.format(f"{form}7"), is_reported=False) is Outcome.CHANGED


def test_a_value_that_is_gone_was_reported_or_changed_silently() -> None:
    """The same translation counts as either."""
    value = Value("number", "2643333", frozenset(("2643333", "2,643,333")))

    assert judge(value, "It costs 264333 euros.", is_reported=True) is Outcome.FLAGGED
    assert judge(value, "It costs 264333 euros.", is_reported=False) is Outcome.CHANGED


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


@given(st.text("abÄ ."), st.integers(0, 9))
def test_an_emphasised_line_has_at_most_two_other_words_and_these_in_capitals(line: str, seed: int) -> None:
    found = (emphasise(line, Random(seed)) or line).split(" ")  # noqa: S311 -- reproducible, not secret
    changed = [(old, new) for old, new in zip(line.split(" "), found, strict=True) if old != new]

    assert len(changed) <= 2
    assert all(new == old.upper() for old, new in changed)


def test_a_word_of_a_line_is_emphasised() -> None:
    assert emphasise("It is so", Random(SEED)) is None  # noqa: S311 -- the same
    assert emphasise("It is very", Random(SEED)) == "It is VERY"  # noqa: S311 -- the same


def test_the_table_has_no_rows_of_spellings_that_change_no_line() -> None:
    scores = {"bleu_as_written": 1.0, "bleu": 2.0, "bleu_as_given": 3.0}
    rows = [
        {"test_set": "a", "spelling": "in capitals", "lines": 9, **scores},
        {"test_set": "a", "spelling": "ss for ß", "lines": 0},
    ]

    made = spelling_table({"provenance": {"bundle": "en-de"}, "results": rows})

    assert made.splitlines()[2:] == ["| en-de | a | in capitals | 9 | 1.0 | 2.0 | 3.0 |"]
