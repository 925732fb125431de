"""What a file costs to read grows no faster than the file, however it was made; else it is refused."""

import io
import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zipfile import ZipFile, is_zipfile

import pytest

from service.formats.entries import FileFormatError
from service.formats.known import open_format
from service.formats.limits import FileLimitError, FileLimits
from service.formats.xml_units import MAX_ATTRIBUTES, MAX_NAME_CHARACTERS, MAX_NAMES
from service.markup.marked_up import parse
from service.markup.options import MarkupError, MarkupLanguage, MarkupOptions
from tests.formats.hostile import HOSTILE, PO_TEXTS, XML, Hostile
from tests.formats.rewriting import OPTIONS, entries

SMALL, LARGE = 300, 1200
MOST_GROWTH = 1.5
"""Times as fast as the file: quadratic work grows four times as fast."""
FREE_CALLS = 3000
FREE_BYTES = 2**20
BYTES_PER_BYTE = 2000
"""Of memory for each of a file, unpacked: elements of four bytes become trees."""
BY_TITLE = {(hostile.name, hostile.title): hostile for hostile in HOSTILE}


def _read(hostile: Hostile, n: int) -> None:
    """Read all of a file; one that is refused was read too."""
    try:
        for _ in open_format(hostile.name, OPTIONS).read(io.BytesIO(hostile.make(n))):
            pass
    except FileFormatError as error:
        assert len(error.problem) < 1000  # noqa: PT017 -- nothing of a file's size is told


class _Calls:
    """Calls of functions, of Python's and of C's."""

    count = 0


@contextmanager
def _counting_calls() -> Iterator[_Calls]:
    calls = _Calls()

    def profile(*_: object) -> None:
        calls.count += 1

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def _num_calls(hostile: Hostile, n: int) -> int:
    with _counting_calls() as calls:
        _read(hostile, n)
    return calls.count


def _peak_bytes(hostile: Hostile, n: int) -> int:
    tracemalloc.start()
    try:
        _read(hostile, n)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("hostile", HOSTILE, ids=str)
def test_calls_grow_no_faster_than_the_file(hostile: Hostile) -> None:
    _read(hostile, SMALL)  # what is imported or compiled is so once
    few, many = _num_calls(hostile, SMALL), _num_calls(hostile, LARGE)

    assert many < FREE_CALLS + MOST_GROWTH * few * LARGE / SMALL


@pytest.mark.parametrize("hostile", HOSTILE, ids=str)
def test_memory_is_in_proportion_to_the_file(hostile: Hostile) -> None:
    peak_bytes = _peak_bytes(hostile, LARGE)

    assert peak_bytes < FREE_BYTES + BYTES_PER_BYTE * _size_bytes(hostile.make(LARGE))


def _size_bytes(content: bytes) -> int:
    """Of a file, unpacked."""
    if not is_zipfile(io.BytesIO(content)):
        return len(content)
    with ZipFile(io.BytesIO(content)) as archive:
        return sum(info.file_size for info in archive.infolist())


LONG = {
    ("a.xliff", "a long namespace"): 200_000,
    ("a.xliff", "default attributes"): 50_000,
    ("a.xliff", "roots in a comment"): 200_000,
    ("a.xliff", "a long comment"): 20_000_000,
    ("a.xliff", "states"): 200_000,
    ("a.po", "continuations"): 400_000,
    ("a.po", "comments"): 400_000,
    ("a.po", "obsolete continuations"): 400_000,
    ("a.po", "a long header"): 400_000,
    ("a.po", "placeholders"): 200_000,
    ("a.docx", "runs"): 20_000,
    ("a.md", "runs of '[^'"): 50_000,
    ("a.md", "runs of '<!--'"): 50_000,
}
"""Work of libraries in C is in no count of calls: of these files it would take hours, were it quadratic."""


@pytest.mark.parametrize("case", LONG, ids=str)
def test_long_files_are_read_or_refused_within_the_limit_of_cpu_time(
    case: tuple[str, str], tmp_path: Path
) -> None:
    path = tmp_path / case[0]
    path.write_bytes(BY_TITLE[case].make(LONG[case]))

    with path.open("rb") as source:
        try:
            for _ in open_format(case[0], OPTIONS, FileLimits(cpu_s=30)).read(source):
                pass
        except FileLimitError:
            raise
        except FileFormatError:
            return


@pytest.mark.parametrize(
    ("title", "n", "problem"),
    [
        ("a long namespace", MAX_NAME_CHARACTERS + 1, "has 1,001 characters; the limit of a name is 1,000"),
        ("a long name", MAX_NAME_CHARACTERS + 1, "has 1,001 characters; the limit of a name is 1,000"),
        ("many attributes", MAX_ATTRIBUTES + 1, "an element has 1,001 attributes, more than 1,000"),
        ("many names", MAX_NAMES + 1, "more than 10,000 different names"),
        ("default attributes", 1, "'a0' of 'x' is declared with a default"),
        ("deep nesting", 1001, "elements are nested more than 1000 deep"),
    ],
)
def test_names_attributes_and_depth_of_xml_are_limited(title: str, n: int, problem: str) -> None:
    with pytest.raises(FileFormatError, match=problem):
        entries(open_format("a.xliff", OPTIONS), XML[title](n).encode())


CODECS = ("undefined", "zlib", "rot13", "idna", "punycode", "utf-7", "base64", "unicode_escape", "hz", "mbcs")


@pytest.mark.parametrize("codec", CODECS)
def test_only_encodings_of_text_are_accepted(codec: str) -> None:
    po = f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={codec}\\n"\n\n{PO_TEXTS["entries"](1)}'
    files = {
        "a.xliff": f'<?xml version="1.0" encoding="{codec}"?>{XML["units"](1)}',
        "a.po": po,
        "a.html": f'<meta charset="{codec}"><p>a</p>',
    }
    for name, content in files.items():
        with pytest.raises(FileFormatError, match=f"declares the encoding '{codec}', which is unknown"):
            entries(open_format(name, OPTIONS), content.encode())


@pytest.mark.parametrize(
    "codec", ["utf-8", "US-ASCII", "ISO-8859-1", "windows-1252", "KOI8-R", "Shift_JIS", "GBK"]
)
def test_encodings_of_text_are_accepted(codec: str) -> None:
    xliff = f'<?xml version="1.0" encoding="{codec}"?>{XML["units"](1)}'

    assert [entry.text for entry in entries(open_format("a.xliff", OPTIONS), xliff.encode())] == ["a"]


def test_references_may_have_any_number_of_digits() -> None:
    options = MarkupOptions(MarkupLanguage.XML)

    assert parse(f"<p>a&#{'0' * 5000}66;&#x{'0' * 5000}43;</p>", options).blocks == ("aBC",)
    with pytest.raises(MarkupError, match="not well-formed XML: reference to invalid character number"):
        parse(f"<p>&#{'9' * 5000};</p>", options)


def test_plural_forms_of_gettext_have_small_numbers() -> None:
    with pytest.raises(FileFormatError, match="line 3 has no text between two quotation marks"):
        entries(open_format("a.po", OPTIONS), PO_TEXTS["a large index"](5000).encode())
