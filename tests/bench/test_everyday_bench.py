"""The benchmark of everyday words judges as a reader would."""

import pytest

from bench.everyday import Trial, read_trials

TRIALS = [trial for language in ("de", "en") for trial in read_trials(language)]


def test_no_trial_is_right_without_a_translation() -> None:
    assert TRIALS
    assert [trial for trial in TRIALS if trial.is_right("")] == []


@pytest.mark.parametrize(
    ("name", "expected", "translation", "is_right"),
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
    name: str, expected: str, translation: str, *, is_right: bool
) -> None:
    assert Trial(name, "de", "Sit down. Are you tired?", expected).is_right(translation) is is_right
