"""Kinds of files by the ends of their names."""

import gzip
import sys

import pytest

from service.formats.compression import CompressedFormat
from service.formats.delimited import CommaFormat, TabFormat
from service.formats.entries import FileFormatError, FileOptions
from service.formats.json_lines import JsonLinesFormat
from service.formats.known import is_known, open_format
from service.formats.parquet import ParquetFormat
from service.formats.plain_text import PlainTextFormat
from service.formats.subtitles import SrtFormat, VttFormat
from tests.formats.rewriting import OPTIONS, texts


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("A.B.TXT", PlainTextFormat),
        ("a.ndjson", JsonLinesFormat),
        ("a.csv", CommaFormat),
        ("a.tsv", TabFormat),
        ("a.Parquet", ParquetFormat),
        ("a.srt", SrtFormat),
        ("a.vtt", VttFormat),
    ],
)
def test_a_files_name_tells_its_kind_also_compressed(name: str, kind: type) -> None:
    assert type(open_format(name, OPTIONS)) is kind
    for suffix in (".gz", ".zst", ".GZ"):
        opened = open_format(name + suffix, OPTIONS)
        assert isinstance(opened, CompressedFormat)
        assert (type(opened.inner), opened.suffix) == (kind, suffix.lower())


@pytest.mark.parametrize("name", ["", "a", "txt", "a.pdf", "a.gz", "a.txt.gz.gz", "a.txt ", "a.txt.bz2"])
def test_other_names_are_refused_with_the_kinds_there_are(name: str) -> None:
    assert not is_known(name)
    supported = r"supported are \.txt, \.jsonl, .*, \.epub, also followed by \.gz or \.zst"
    with pytest.raises(FileFormatError, match=supported):
        open_format(name, OPTIONS)


def test_a_long_name_is_shown_by_its_end() -> None:
    with pytest.raises(FileFormatError, match=rf"^'\.\.\.{'a' * 76}\.pdf' has no supported suffix"):
        open_format("a" * 1000 + ".pdf", OPTIONS)


def test_columns_are_passed_on() -> None:
    file_format = open_format("a.csv.gz", FileOptions("de", "en", ("b",)))

    assert texts(file_format, gzip.compress(b"a,b\n1,Hallo\n")) == ["Hallo"]


def test_a_kind_whose_library_is_missing_tells_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "service.formats.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    problem = r"^\.parquet files need pyarrow.*pip install 'dragoman\[parquet\]'$"
    with pytest.raises(FileFormatError, match=problem):
        open_format("a.parquet", OPTIONS)
