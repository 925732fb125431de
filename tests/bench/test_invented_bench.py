"""Words that a translation invents."""

import lzma
from pathlib import Path

import pytest

from bench.invented import invented_words, read_known

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
