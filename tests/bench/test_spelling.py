"""Lines in other spellings, and the table of their scores."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from bench.spelling import SEED, emphasise, spelling_table


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
