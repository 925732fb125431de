"""Kinds of files by the ends of their names."""

import sys

import pytest

from service.formats.compression import CompressedFormat
from service.formats.delimited import CommaFormat, TabFormat
from service.formats.entries import FileFormatError
from service.formats.json_lines import JsonLinesFormat
from service.formats.parquet import ParquetFormat
from service.formats.plain_text import PlainTextFormat
from service.formats.registry import is_known, open_format, output_name, output_suffix, requested_output
from service.formats.subtitles import SrtFormat, VttFormat
from tests.formats.rewriting import OPTIONS


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
def test_the_suffix_of_a_file_name_gives_its_kind_also_before_a_compression_suffix(
    name: str, kind: type
) -> None:
    assert type(open_format(name, OPTIONS)) is kind
    for suffix in (".gz", ".zst", ".GZ"):
        opened = open_format(name + suffix, OPTIONS)
        assert isinstance(opened, CompressedFormat)
        assert (type(opened.inner), opened.suffix) == (kind, suffix.lower())


@pytest.mark.parametrize("name", ["", "a", "txt", "a.doc", "a.gz", "a.txt.gz.gz", "a.txt ", "a.txt.bz2"])
def test_other_names_are_rejected_with_the_kinds_there_are(name: str) -> None:
    assert not is_known(name)
    supported = r"supported are \.txt, \.jsonl, .*, \.epub, .*, also followed by \.gz or \.zst"
    with pytest.raises(FileFormatError, match=supported):
        open_format(name, OPTIONS)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("a.docm", "a.docx"),
        ("a.mdx", "a.md"),
        ("a.html.erb", "a.html"),
        ("a.ott", "a.odt"),
        ("a.xlsm", "a.xlsx"),
    ],
)
def test_a_file_that_is_read_as_another_kind_keeps_its_suffix(name: str, other: str) -> None:
    assert type(open_format(name, OPTIONS)) is type(open_format(other, OPTIONS))
    assert output_suffix(name, name) == ""
    for one, two in ((name, other), (other, name)):
        with pytest.raises(FileFormatError, match="use the same suffix"):
            output_suffix(one, two)


def test_a_long_name_is_shown_by_its_end() -> None:
    with pytest.raises(FileFormatError, match=rf"^'\.\.\.{'a' * 76}\.doc' has no supported suffix"):
        open_format("a" * 1000 + ".doc", OPTIONS)


@pytest.mark.parametrize(
    ("suffix", "package", "extra", "modules"),
    [(".parquet", "pyarrow", "parquet", ["parquet"]), (".pdf", "pypdfium2", "pdf", ["pdf", "pdf_pages"])],
)
def test_a_format_without_its_library_says_what_to_install(
    suffix: str, package: str, extra: str, modules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in modules:
        monkeypatch.delitem(sys.modules, f"service.formats.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)

    problem = rf"^\{suffix} files are not read here: the operator has to install dragoman\[{extra}\]$"
    with pytest.raises(FileFormatError, match=problem):
        open_format(f"a{suffix}", OPTIONS)


@pytest.mark.parametrize(
    ("name", "output", "result_name"),
    [
        ("a.txt", "", "a.txt"),
        ("a", "", "a"),
        ("A.B.PDF", "", "A.B.docx"),
        ("a.pdf", ".txt", "a.txt"),
        ("a.pdf.gz", "", "a.docx.gz"),
        ("a.pdf.ZST", ".txt", "a.txt.ZST"),
    ],
)
def test_the_result_has_the_suffix_of_its_format(name: str, output: str, result_name: str) -> None:
    assert output_name(name, output) == result_name


@pytest.mark.parametrize(
    ("name", "requested", "output"),
    [
        ("a.txt", "", ""),
        ("a.txt", "txt", ""),
        ("a.md", "markdown", ""),
        ("a.pdf", "", ""),
        ("a.pdf", "docx", ".docx"),
        ("a.PDF", "TXT", ".txt"),
        ("a.pdf.gz", "txt", ".txt"),
        ("a.pdf.gz", "txt.gz", ".txt"),
    ],
)
def test_a_requested_format_chooses_the_output(name: str, requested: str, output: str) -> None:
    assert requested_output(name, requested) == output


@pytest.mark.parametrize(
    ("name", "requested", "problem"),
    [
        ("a.txt", "docx", "the output must have the format of a.txt; use the same suffix"),
        ("a.pdf", "pdf", "a.pdf can only be written as .docx or .txt; use such a suffix"),
        ("a.pdf", "docx.gz", "a.pdf can only be written as .docx or .txt"),
        ("a.pdf.gz", "odt", "a.pdf.gz can only be written as .docx.gz or .txt.gz"),
        ("a.pdf", "exe", "'.exe' has no supported suffix"),
        ("a.pdf", "docx/../x", "has no supported suffix"),
    ],
)
def test_other_requested_formats_are_rejected(name: str, requested: str, problem: str) -> None:
    with pytest.raises(FileFormatError, match=problem):
        requested_output(name, requested)
