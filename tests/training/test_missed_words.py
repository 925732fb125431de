"""Pairs whose words a model misses are kept for it to read again."""

from pathlib import Path

import pytest

from training import missed_words
from training.corpus import TextPair
from training.missed_words import missed_pairs

TAPS = [TextPair(f"Hahn {number} tropft.", f"The tap number {number} is dripping.") for number in range(20)]
MISSED = ["The tap number falls."] * 20
READ = ["The tap number drips."] * 20


def missed(translations: list[str], *, counts: range = range(21), max_per_word: int = 20) -> list[int]:
    """Return the numbers of the pairs that are kept."""
    return [TAPS.index(pair) for pair in missed_pairs(TAPS, translations, counts, max_per_word)]


def test_a_pair_is_kept_if_a_word_of_its_target_is_in_no_form_in_the_translation() -> None:
    assert missed(READ) == []
    assert missed(MISSED[:15] + READ[15:]) == [*range(15)]


def test_a_word_whose_pairs_are_mostly_translated_is_not_missed() -> None:
    assert missed(MISSED[:10] + READ[10:]) == [*range(10)]
    assert missed(MISSED[:9] + READ[9:]) == []


def test_frequent_words_and_those_of_two_letters_are_not_missed() -> None:
    assert missed(MISSED, counts=range(20)) == []
    assert missed(["the tap number dripping"] * 20) == []


def test_of_the_pairs_of_a_word_at_most_the_given_number_are_kept() -> None:
    assert missed(MISSED, max_per_word=4) == [0, 1, 2, 3]


def test_files_of_different_lengths_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs, translations, output = (tmp_path / name for name in ("pairs.tsv", "out", "missed.tsv"))
    pairs.write_text("tag\tDer Hahn tropft.\tThe tap drips.\n" * 3)
    monkeypatch.setattr("sys.argv", ["missed_words", str(pairs), str(translations), "-o", str(output)])

    translations.write_text("The tap falls.\n")
    assert missed_words.main() == 2
    assert "pairs.tsv has 3 lines, but" in capsys.readouterr().err
    translations.write_text("The tap falls.\n" * 3)
    assert missed_words.main() == 0
    assert output.read_text() == "Der Hahn tropft.\tThe tap drips.\n" * 3


def test_the_columns_of_pairs_in_the_other_order_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, translations, output = (tmp_path / name for name in ("pairs.tsv", "out", "missed.tsv"))
    pairs.write_text("Der Hahn tropft.\tThe tap drips.\n" * 3)
    translations.write_text("Der Hahn fällt.\n" * 3)
    paths = [str(pairs), str(translations), "-o", str(output)]
    monkeypatch.setattr("sys.argv", ["missed_words", *paths, "--reversed"])

    assert missed_words.main() == 0
    assert output.read_text() == pairs.read_text()
