"""Random values, everyday words and invented ones, and what is reported of their translations."""

import lzma
import re
from pathlib import Path
from random import Random

import pytest

from bench.everyday import TRIALS, is_right
from bench.invented import invented_words, read_known
from bench.numbers import FRAMES, Value, ValueOutcome, draw_value, judge
from bench.trials import Trial, read_trials


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


def test_no_trial_is_right_without_a_translation() -> None:
    trials = read_trials(TRIALS, ("de", "en"))

    assert trials
    assert [trial for trial in trials if is_right(trial, "")] == []


@pytest.mark.parametrize(
    ("name", "expected", "translation", "has_it"),
    [
        ("nouns", "pot|saucepan", "Where's the pot?", True),
        ("nouns", "pot|saucepan", "Where's the spot?", False),
        ("nouns", "pot|saucepan", "Where's the pottery?", False),
        ("names", "Fritz!Box", "I use the Fritz!Box by AVM.", True),
        ("interface", "Inbox", "Inbox", True),
        ("interface", "Inbox", "inbox", False),
        ("interface", "Inbox", "Inbox.", False),
        ("interface", "Forgot password?", "Forgot password?", True),
        ("pronouns", r"(?<=[.?!] )(Er)", "Ich habe einen Tisch. Er ist neu.", True),
        ("pronouns", r"(?<=[.?!] )(Er)", "Er ist neu. Es ist ein Tisch.", False),
        ("address", "", "Setz dich. Bist du müde?", True),
        ("address", "", "Setzen Sie sich. Bist du müde?", False),
    ],
)
def test_a_translation_is_right_if_it_has_what_is_expected(
    name: str, expected: str, translation: str, *, has_it: bool
) -> None:
    assert is_right(Trial(name, "de", "Sit down. Are you tired?", expected), translation) is has_it


KNOWN = {"haus", "tür", "schlüssel", "arbeit", "zimmer", "der", "die"}


@pytest.mark.parametrize("word", ["Hausarbeit", "Arbeitszimmer", "der", "Tür", "Bodiam"])
def test_a_known_word_a_compound_and_a_word_of_the_source_are_not_invented(word: str) -> None:
    assert invented_words("The house of Bodiam", word, KNOWN) == []


@pytest.mark.parametrize("word", ["Hausfrau", "Zimmerling", "Schlüsselxyz", "Ader"])
def test_other_words_are_invented(word: str) -> None:
    assert invented_words("The house", f"Der {word} die 7.", KNOWN) == [word.lower()]


def test_known_words_come_from_a_column_of_files_that_may_be_packed(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("tag\tDas Haus, das Haus\tthe house\n", "utf-8")
    (tmp_path / "b.tsv.xz").write_bytes(lzma.compress("tag\tdie Tür die Tür einmal\tthe door\n".encode()))

    assert read_known([tmp_path / "a.tsv", tmp_path / "b.tsv.xz"], 1) == {"das", "haus", "die", "tür"}
