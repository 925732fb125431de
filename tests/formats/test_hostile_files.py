"""What a file costs to read grows no faster than the file, however it was made; else it is refused."""

import io
import tracemalloc
from collections.abc import Callable
from zipfile import ZipFile, is_zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.hostile.files import BY_TITLE, HOSTILE, HostileFile
from service.formats.entries import FileFormatError
from service.formats.registry import open_format
from service.formats.xml_units import xml_units
from service.text.options import MarkupError, MarkupLanguage, MarkupOptions
from service.text.xml_parser import MAX_ATTRIBUTES, MAX_NAME_CHARACTERS, MAX_NAMES
from tests.formats.rewriting import OPTIONS, entries, texts
from tests.linear import SIZE, count_calls, has_linear_count
from tests.text.markup.marked import parse

LARGE = 100
FREE_BYTES = 2**20
BYTES_PER_BYTE = 2000
"""Of memory for each of a file, unpacked: elements of four bytes become trees."""


def _read(hostile: HostileFile, content: bytes) -> None:
    """Read all of a file; one that is refused was read too."""
    try:
        entries(open_format(hostile.name, OPTIONS), content)
    except FileFormatError as error:
        assert len(error.problem) < 1000  # noqa: PT017 -- nothing of a file's size is told


def _peak_bytes(hostile: HostileFile, content: bytes) -> int:
    tracemalloc.start()
    try:
        _read(hostile, content)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _size_bytes(content: bytes) -> int:
    """Of a file, unpacked."""
    if not is_zipfile(io.BytesIO(content)):
        return len(content)
    with ZipFile(io.BytesIO(content)) as archive:
        return sum(info.file_size for info in archive.infolist())


@pytest.mark.parametrize("hostile", HOSTILE, ids=str)
def test_calls_and_memory_are_in_proportion_to_the_file(hostile: HostileFile) -> None:
    content = hostile.make(LARGE)
    _read(hostile, hostile.make(1))  # imports modules that stay
    assert _peak_bytes(hostile, content) < FREE_BYTES + BYTES_PER_BYTE * _size_bytes(content)
    assert has_linear_count(lambda n: count_calls(lambda: _read(hostile, hostile.make(n))), SIZE)


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
        entries(open_format("a.xliff", OPTIONS), BY_TITLE[f"a.xliff of {title}"].make(n))


ITEMS = st.sampled_from(
    [
        '<!ATTLIST r a{} CDATA "x">',
        "<!ATTLIST r a{} CDATA #IMPLIED>",
        '<!ENTITY a{} "x">',
        "<!ENTITY % a{} SYSTEM 'x'>",
        "<!ELEMENT r ANY>",
        "<!-- a -->",
    ]
)
SIZES = st.sampled_from([0, 1, 999, 1000, 1001, 10_001])


@settings(max_examples=60)
@given(
    ITEMS,
    SIZES,
    st.sampled_from([("<r{}/>", ""), ("<r>", "</r>"), ("<r><r a{}=''/>", "</r>"), ("<a{}/>", "")]),
    SIZES,
    SIZES,
)
def test_xml_of_requests_and_of_files_has_the_same_limits(
    item: str, num_items: int, tags: tuple[str, str], num_tags: int, length: int
) -> None:
    """Declarations, depth, names and attributes: what one reader rejects the other one rejects."""
    declared = "".join(map(item.format, range(num_items)))
    opened = "".join(map(tags[0].format, range(num_tags)))
    name = f"<{'n' * length}/>" if length else ""
    xml = f"<!DOCTYPE r [{declared}]><r>{opened}{name}{tags[1] * num_tags}</r>"

    def rejection(read: Callable[[], object], error: type[Exception]) -> str | None:
        try:
            read()
        except error as found:
            return str(found)
        return None

    options = MarkupOptions(MarkupLanguage.XML)
    of_request = rejection(lambda: parse(xml, options), MarkupError)
    units = xml_units(io.BytesIO(xml.encode()), frozenset(), allows_doctype=True)
    assert of_request == rejection(lambda: list(units), FileFormatError)


@pytest.mark.parametrize(
    "codec", ["utf-8", "US-ASCII", "ISO-8859-1", "windows-1252", "KOI8-R", "Shift_JIS", "GBK"]
)
def test_encodings_of_text_are_accepted(codec: str) -> None:
    declared = f'<?xml version="1.0" encoding="{codec}"?>'.encode()

    assert texts(open_format("a.xliff", OPTIONS), declared + BY_TITLE["a.xliff of units"].make(1)) == ["a"]


def test_references_may_have_any_number_of_digits() -> None:
    options = MarkupOptions(MarkupLanguage.XML)

    assert parse(f"<p>a&#{'0' * 5000}66;&#x{'0' * 5000}43;</p>", options).blocks == ("aBC",)
    with pytest.raises(MarkupError, match="not well-formed XML: reference to invalid character number"):
        parse(f"<p>&#{'9' * 5000};</p>", options)


def test_plural_forms_of_gettext_have_small_numbers() -> None:
    with pytest.raises(FileFormatError, match="line 3 has no text between two quotation marks"):
        entries(open_format("a.po", OPTIONS), BY_TITLE["a.po of a large index"].make(5000))
