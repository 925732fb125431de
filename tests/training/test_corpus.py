"""Reading parallel text, back-translated too, and pairs whose words a model misses."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from tests.imports.export.conftest import RunMain
from tests.imports.export.rejections import message_of
from tests.training.conftest import Recipe, run_main
from training import missed_words
from training.back_translation import is_usable, main
from training.config import Corpus, DataSettings, TrainingConfig
from training.controls import BACK_TRANSLATED
from training.corpus import TextPair, is_clean, read_pairs
from training.errors import CorpusError
from training.missed_words import missed_pairs
from training.prepare import prepare


def read(
    *paths: Path, is_reversed: bool = False, max_length_ratio: float = 4.0, **settings: Any
) -> list[TextPair]:
    corpus = Corpus(name="x", files=paths, weight=1.0, licence="CC0-1.0", **settings)
    data = DataSettings(
        source_language="de",
        target_language="en",
        is_reversed=is_reversed,
        corpora=(corpus,),
        max_length_ratio=max_length_ratio,
    )
    return list(read_pairs(corpus, data, seed=1))


LINES = {
    "two and three columns can be mixed": (
        "Hund\tdog\ntag-7\tKatze\tcat\n",
        [TextPair("Hund", "dog"), TextPair("Katze", "cat")],
    ),
    "only line feeds end lines": (
        "eins\u2028zwei\tone\u2028two\r\ndrei\tthree",
        [TextPair("eins zwei", "one two"), TextPair("drei", "three")],
    ),
    "normalised like the engine's input": (
        "Ba\u0308r  und\u00a0Hund\tbear\u200b and dog\n",
        [TextPair("Bär und Hund", "bear and dog")],
    ),
}


@pytest.mark.parametrize("rule", LINES)
def test_lines_are_read_as_pairs(tmp_path: Path, rule: str) -> None:
    path, (content, pairs) = tmp_path / "x.tsv", LINES[rule]
    path.write_bytes(content.encode())

    assert read(path) == pairs
    assert read(path, is_reversed=True) == [TextPair(pair.target, pair.source) for pair in pairs]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"nur eine Spalte", "1 columns"),
        (b"a\tb\tc\td", "4 columns"),
        (b"", "1 columns"),
        (b"B\xe4r\tbear", "not UTF-8"),
    ],
)
def test_a_line_of_other_columns_or_not_in_utf8_is_named(tmp_path: Path, line: bytes, problem: str) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes(b"Hund\tdog\n" + line + b"\nKatze\tcat\n")

    assert message_of(CorpusError, read, path).startswith(f"{path}:2: {problem}")


COMPRESSED = [(".xz", lzma.compress), (".gz", gzip.compress), (".bz2", bz2.compress)]


@pytest.mark.parametrize(("ending", "pack"), [("", bytes), *COMPRESSED])
def test_compressed_files_are_decompressed_by_their_extension(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"x.tsv{ending}"
    path.write_bytes(pack("Bär\tbear\nÄpfel\tapples\n".encode()))

    assert read(path) == [TextPair("Bär", "bear"), TextPair("Äpfel", "apples")]


@pytest.mark.parametrize(("ending", "pack"), COMPRESSED)
def test_a_truncated_or_misnamed_compressed_file_is_named(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    truncated, plain = tmp_path / f"truncated{ending}", tmp_path / f"plain{ending}"
    truncated.write_bytes(pack(b"Hund\tdog\n" * 1000)[:-12])
    plain.write_bytes(b"Hund\tdog\n")

    for path in (truncated, plain):
        assert message_of(CorpusError, read, path).startswith(f"{path}: cannot be read")


def test_duplicate_pairs_are_skipped_across_the_files_of_a_corpus(tmp_path: Path) -> None:
    first, second = tmp_path / "1.tsv", tmp_path / "2.tsv"
    first.write_text("Hund\tdog\nHund\tdog\nHund\thound\n", encoding="utf8")
    second.write_text("tag\tHund\tdog\n Hund \tdog\nKatze\tcat\n", encoding="utf8")

    assert read(first, second) == [
        TextPair("Hund", "dog"),
        TextPair("Hund", "hound"),
        TextPair("Katze", "cat"),
    ]


def test_pairs_with_an_empty_or_far_longer_side_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(f"\tdog\nHund\t \nHund\t{'x' * 28}\nHund\t{'x' * 29}\n", encoding="utf8")

    assert read(path, max_length_ratio=2.0) == [TextPair("Hund", "x" * 28)]
    assert is_clean(TextPair("x" * 28, "Hund"), 2.0)
    assert not is_clean(TextPair("x" * 29, "Hund"), 2.0)


def test_a_pair_with_a_count_is_read_as_often_as_its_square_root(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("1\tHund\tdog\n3\tKatze\tcat\n17\tMaus\tmouse\n", encoding="utf8")

    assert [pair.target for pair in read(path, has_counts=True)] == ["dog", "cat", *["mouse"] * 4]
    assert [pair.target for pair in read(path)] == ["dog", "cat", "mouse"]


def test_only_lines_whose_tag_has_the_prefix_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("de-one\tHund\tdog\nen-one\tKatze\tcat\nMaus\tmouse\nde-two\tKuh\tcow\n", encoding="utf8")

    assert [pair.target for pair in read(path, tag_prefix="de-")] == ["dog", "cow"]


@pytest.mark.parametrize("line", ["tag\tKatze\tcat", "0\tKatze\tcat", "-4\tKatze\tcat", "Katze\tcat"])
def test_a_tag_that_must_be_a_count_and_is_none_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(f"1\tHund\tdog\n{line}\n", encoding="utf8")

    message = message_of(CorpusError, lambda: read(path, has_counts=True))

    assert message.startswith(f"{path}:2: the tag ")
    assert "must be a number of occurrences" in message


__all__ = ["run_main"]

TEXT = "Im Jahr 1984 zog die Familie nach Bremen."


@pytest.mark.parametrize(
    ("text", "translation", "is_good"),
    [
        (TEXT, "In 1984 the family moved to Bremen.", True),
        (TEXT, "In 1948 the family moved to Bremen.", False),
        (TEXT, "In the year the family moved to Bremen.", False),
        (TEXT, "In 1984 the the family moved to Bremen.", False),
        (TEXT, "In 1984.", False),
        (TEXT, "Im Jahr 1984 zog die Familie nach Bremen.", False),
        ("Die Stadt ( ) liegt am Meer.", "The city lies by the sea.", False),
        ("Ja.", "Yes.", False),
    ],
)
def test_a_pair_is_usable_if_text_and_translation_are_whole(
    text: str, translation: str, *, is_good: bool
) -> None:
    assert is_usable(text, translation) == is_good


def test_the_command_writes_translations_as_sources_of_their_texts(run_main: RunMain, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(f"wiki\t{TEXT}\nwiki\tJa.\n", encoding="utf8")
    (tmp_path / "translations").write_text("In 1984 the family moved to Bremen.\nYes.\n", encoding="utf8")
    done = run_main(main, tmp_path / "text", tmp_path / "translations", "-o", tmp_path / "out")
    assert (done.status, done.output) == (0, "1 pairs are usable\n")
    assert (tmp_path / "out").read_text(encoding="utf8") == f"In 1984 the family moved to Bremen.\t{TEXT}\n"


def test_a_back_translated_corpus_is_read_in_one_direction_with_its_control(recipe: Recipe) -> None:
    recipe["data"]["is_bidirectional"] = True
    recipe["data"]["corpora"][0]["back_translated"] = "en"
    recipe["data"]["corpora"].append(
        {**recipe["data"]["corpora"][0], "name": "real", "back_translated": None}
    )
    recipe["vocabulary"]["has_controls"] = True
    config = TrainingConfig.model_validate(recipe)
    corpora = [corpus.tokenised for corpus in prepare(config)]
    assert len(corpora) == 3  # one direction of the back-translated corpus, two of the other
    processor = sentencepiece.SentencePieceProcessor(model_file=str(config.run_dir / "data" / "source.spm"))
    control = processor.piece_to_id(BACK_TRANSLATED)
    assert control != processor.unk_id()
    begins = [{int(one.source(pair)[0]) for pair in range(len(one))} for one in corpora]
    assert begins[0] == {control}
    assert control not in begins[1] | begins[2]


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
