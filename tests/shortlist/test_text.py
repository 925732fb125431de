"""Reading plain and parallel text."""

import gzip
import lzma
from collections.abc import Callable
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


@pytest.mark.parametrize(
    ("read", "name", "content", "problem"),
    [
        (read_lines, "missing.de", None, ": cannot be read after line"),
        (read_lines, "damaged.xz", b"no xz", ": cannot be read after line"),
        (read_lines, "cut.gz", gzip.compress(b"Haus\n" * 99, mtime=0)[:-9], ": cannot be read after line"),
        (read_lines, "latin.de", b"Haus\ngr\xfcn\n", ":2: not UTF-8"),
        (read_pairs, "pairs.tsv", b"Haus\thouse\nHaus\n", ":2: 1 columns"),
        (read_pairs, "pairs.tsv", b"Haus\thouse\na\tb\tc\td\n", ":2: 4 columns"),
    ],
)
def test_an_unreadable_file_or_line_is_rejected_by_name(
    tmp_path: Path, read: Callable[[list[Path]], object], name: str, content: bytes | None, problem: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(ExportError, match=name + problem):
        read([tmp_path / name])


@given(st.integers(0, 50), st.integers(0, 60))
def test_a_sample_has_the_requested_number_of_distinct_items_in_order(size: int, most: int) -> None:
    sample = evenly_spaced(range(size), most)
    assert sample == sorted(set(sample))
    assert len(sample) == min(size, most)
