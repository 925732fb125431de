"""Reading parallel text."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from training.config import Corpus, Data
from training.corpus import Pair, is_clean, read_pairs
from training.errors import CorpusError


def read(*paths: Path, is_reversed: bool = False, max_length_ratio: float = 4.0) -> list[Pair]:
    corpus = Corpus(name="x", files=paths, weight=1.0, licence="CC0-1.0")
    data = Data(
        source_language="de",
        target_language="en",
        is_reversed=is_reversed,
        corpora=(corpus,),
        max_length_ratio=max_length_ratio,
    )
    return list(read_pairs(corpus, data, seed=1))


def test_lines_with_two_and_three_columns_can_be_mixed(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("Hund\tdog\ntag-7\tKatze\tcat\n", encoding="utf8")

    assert read(path) == [Pair("Hund", "dog"), Pair("Katze", "cat")]


@pytest.mark.parametrize(("line", "columns"), [("nur eine Spalte", 1), ("a\tb\tc\td", 4), ("", 1)])
def test_a_line_with_another_number_of_columns_is_named(tmp_path: Path, line: str, columns: int) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(f"Hund\tdog\n{line}\nKatze\tcat\n", encoding="utf8")

    with pytest.raises(CorpusError) as caught:
        read(path)

    assert str(caught.value).startswith(f"{path}:2: {columns} columns")


def test_a_line_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes(b"Hund\tdog\nKatze\tcat\nB\xe4r\tbear\n")

    with pytest.raises(CorpusError) as caught:
        read(path)

    assert str(caught.value).startswith(f"{path}:3: not UTF-8")


@pytest.mark.parametrize(
    ("ending", "pack"), [("", bytes), (".xz", lzma.compress), (".gz", gzip.compress), (".bz2", bz2.compress)]
)
def test_compressed_files_are_decompressed_by_their_extension(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"x.tsv{ending}"
    path.write_bytes(pack("Bär\tbear\nÄpfel\tapples\n".encode()))

    assert read(path) == [Pair("Bär", "bear"), Pair("Äpfel", "apples")]


@pytest.mark.parametrize(
    ("ending", "pack"), [(".xz", lzma.compress), (".gz", gzip.compress), (".bz2", bz2.compress)]
)
def test_a_truncated_or_misnamed_compressed_file_is_named(
    tmp_path: Path, ending: str, pack: Callable[[bytes], bytes]
) -> None:
    truncated, plain = tmp_path / f"truncated{ending}", tmp_path / f"plain{ending}"
    truncated.write_bytes(pack(b"Hund\tdog\n" * 1000)[:-12])
    plain.write_bytes(b"Hund\tdog\n")

    for path in (truncated, plain):
        with pytest.raises(CorpusError, match="not readable") as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: ")


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_bytes("eins\u2028zwei\tone\u2028two\r\ndrei\tthree".encode())

    assert read(path) == [Pair("eins zwei", "one two"), Pair("drei", "three")]


def test_duplicate_pairs_are_skipped_across_the_files_of_a_corpus(tmp_path: Path) -> None:
    first, second = tmp_path / "1.tsv", tmp_path / "2.tsv"
    first.write_text("Hund\tdog\nHund\tdog\nHund\thound\n", encoding="utf8")
    second.write_text("tag\tHund\tdog\n Hund \tdog\nKatze\tcat\n", encoding="utf8")

    assert read(first, second) == [Pair("Hund", "dog"), Pair("Hund", "hound"), Pair("Katze", "cat")]


def test_pairs_with_an_empty_or_far_longer_side_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text(f"\tdog\nHund\t \nHund\t{'x' * 28}\nHund\t{'x' * 29}\n", encoding="utf8")

    assert read(path, max_length_ratio=2.0) == [Pair("Hund", "x" * 28)]
    assert is_clean(Pair("x" * 28, "Hund"), 2.0)
    assert not is_clean(Pair("x" * 29, "Hund"), 2.0)


def test_reversed_files_have_the_target_first(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("Hund\tdog\ntag\tKatze\tcat\n", encoding="utf8")

    assert read(path, is_reversed=True) == [Pair("dog", "Hund"), Pair("cat", "Katze")]


def test_training_text_is_normalised_like_the_engines_input(tmp_path: Path) -> None:
    path = tmp_path / "x.tsv"
    path.write_text("Ba\u0308r  und\u00a0Hund\tbear\u200b and dog\n", encoding="utf8")

    assert read(path) == [Pair("Bär und Hund", "bear and dog")]
