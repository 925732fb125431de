"""Kinds of files by the ends of their names."""

import gzip
import io
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from service.formats import known
from service.formats.compression import CompressedFormat
from service.formats.delimited import CommaFormat, TabFormat
from service.formats.entries import FileFormatError, FileOptions
from service.formats.json_lines import JsonLinesFormat
from service.formats.known import SUFFIXES, is_known, open_format
from service.formats.parquet import ParquetFormat
from service.formats.plain_text import PlainTextFormat
from service.formats.subtitles import SrtFormat, VttFormat

PROJECT = Path(__file__).resolve().parents[2]
OPTIONS = FileOptions("de", "en")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.txt", PlainTextFormat),
        ("A.B.TXT", PlainTextFormat),
        ("a.jsonl", JsonLinesFormat),
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
        assert type(opened.inner) is kind
        assert opened.suffix == suffix.lower()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_can_be_opened(suffix: str) -> None:
    assert is_known(f"a{suffix}")
    opened = open_format(f"a{suffix}", OPTIONS)
    assert callable(opened.read)
    assert callable(opened.write)


@pytest.mark.parametrize("name", ["", "a", "txt", "a.pdf", "a.gz", "a.txt.gz.gz", "a.txt ", "a.txt.bz2"])
def test_other_names_are_refused_with_the_kinds_there_are(name: str) -> None:
    assert not is_known(name)
    with pytest.raises(
        FileFormatError, match=r"supported are \.txt, \.jsonl, .*, \.epub, also followed by \.gz or \.zst"
    ):
        open_format(name, OPTIONS)


def test_a_long_name_is_shown_by_its_end() -> None:
    with pytest.raises(FileFormatError) as refused:
        open_format("a" * 1000 + ".pdf", OPTIONS)
    assert str(refused.value).startswith("'..." + "a" * 76 + ".pdf' has no supported suffix")


def test_columns_are_passed_on() -> None:
    entries = open_format("a.csv.gz", FileOptions("de", "en", ("b",))).read(
        io.BytesIO(gzip.compress(b"a,b\n1,Hallo\n"))
    )
    assert [entry.text for entry in entries] == ["Hallo"]


def test_a_compressed_table_that_is_sought_in_is_translated() -> None:
    table = io.BytesIO()
    pq.write_table(pa.table({"text": ["Hallo"]}), table)
    content = zstandard.compress(table.getvalue())
    target = io.BytesIO()

    open_format("a.parquet.zst", OPTIONS).write(io.BytesIO(content), iter(["Hello"]), target)

    plain = zstandard.ZstdDecompressor().stream_reader(target.getvalue()).read()
    assert pq.read_table(io.BytesIO(plain)).to_pylist() == [{"text": "Hello"}]


def test_a_kind_whose_library_is_missing_tells_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "service.formats.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)

    with pytest.raises(
        FileFormatError, match=r"^\.parquet files need pyarrow.*pip install 'dragoman\[parquet\]'$"
    ):
        open_format("a.parquet", OPTIONS)


def test_nothing_is_loaded_for_kinds_that_do_not_come() -> None:
    program = "import service.formats.known, sys; print(*sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, cwd=PROJECT, text=True
    )
    modules = {f"service.formats.{kind.module}" for kind in known._FORMATS.values()}

    assert set(finished.stdout.split()).isdisjoint({"pyarrow", "lxml", "docx", *modules})
