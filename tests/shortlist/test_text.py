"""Reading plain and parallel text."""

import gzip
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.bundle import ExportError
from export.shortlist.text import evenly_spaced, read_lines, read_pairs


def test_compressed_and_plain_lines_are_read_and_empty_ones_skipped(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.de", tmp_path / "b.de.gz"
    plain.write_bytes("Grün.\r\n\n  \nHaus\u2028Hof".encode())
    packed.write_bytes(gzip.compress(b"Ende.\n"))
    assert read_lines([plain, packed]) == ["Grün.", "Haus\u2028Hof", "Ende."]


def test_a_pair_may_be_preceded_by_a_tag(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv.xz"
    path.write_bytes(lzma.compress(b"Haus\thouse\ntag\tHof\tyard\n"))
    assert read_pairs([path]) == [("Haus", "house"), ("Hof", "yard")]


@pytest.mark.parametrize("line", ["Haus", "a\tb\tc\td"])
def test_a_line_with_a_wrong_number_of_columns_is_rejected_by_line_number(tmp_path: Path, line: str) -> None:
    path = tmp_path / "pairs.tsv"
    path.write_text(f"Haus\thouse\n{line}\n", encoding="utf8")
    with pytest.raises(ExportError, match=r"pairs\.tsv:2: \d columns"):
        read_pairs([path])


@pytest.mark.parametrize(
    ("name", "content"),
    [("missing.de", None), ("damaged.xz", b"no xz"), ("cut.gz", gzip.compress(b"Haus\n" * 99, mtime=0)[:-9])],
)
def test_an_unreadable_file_is_rejected_by_name(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ExportError, match=f"{name}: cannot be read after line"):
        read_lines([tmp_path / name])


def test_a_line_that_is_not_utf8_is_rejected_by_line_number(tmp_path: Path) -> None:
    path = tmp_path / "latin.de"
    path.write_bytes(b"Haus\ngr\xfcn\n")
    with pytest.raises(ExportError, match=r"latin\.de:2: not UTF-8"):
        read_lines([path])


@given(st.integers(0, 50), st.integers(0, 60))
def test_a_sample_has_the_requested_number_of_distinct_items_in_order(size: int, most: int) -> None:
    sample = evenly_spaced(range(size), most)
    assert sample == sorted(set(sample))
    assert len(sample) == min(size, most)
