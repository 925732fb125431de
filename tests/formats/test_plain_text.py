"""Plain text in the encodings that people save it in."""

import codecs
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.entries import FileFormatError
from service.formats.lines import LinesFormat
from service.formats.plain_text import PlainTextFormat
from tests.formats.rewriting import OPTIONS, entries, own, places, rewritten, written

TEXT = PlainTextFormat(OPTIONS)
MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


@given(st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from([*MARKS]))
def test_text_with_a_mark_comes_back_byte_for_byte(text: str, encoding: str) -> None:
    # A NUL after the mark of UTF-16 looks like that of UTF-32.
    text = text.lstrip("\0") if encoding == "utf-16-le" else text
    content = MARKS[encoding] + text.encode(encoding)

    assert rewritten(TEXT, content, own) == content


@pytest.mark.parametrize("content", [b"", b"a\n\xc3\xbc\r\n b", b"\xff", b"a\n\xfeb\0"])
def test_text_without_a_byte_order_mark_is_read_like_lines(content: bytes) -> None:
    def read_by(opened: PlainTextFormat | LinesFormat) -> object:
        try:
            return entries(opened, content)
        except FileFormatError as error:
            return error.problem

    assert read_by(TEXT) == read_by(LinesFormat(OPTIONS))


@pytest.mark.parametrize("encoding", MARKS)
def test_a_translation_is_in_the_encoding_that_its_file_is_in(encoding: str) -> None:
    content = MARKS[encoding] + "Größe\r\n\n𝄞 漢".encode(encoding)
    result = MARKS[encoding] + "Größer\r\n\nж 𝄞".encode(encoding)

    assert places(TEXT, content) == [("Größe", "line 1"), ("𝄞 漢", "line 3")]
    assert written(TEXT, content, "Gr\u00f6\u00dfer", "ж\n𝄞") == result


def test_a_long_file_is_read_lazily() -> None:
    source = io.BytesIO(codecs.BOM_UTF16_LE + "Zeile\n".encode("utf-16-le") * 1_000_000)
    next(iter(TEXT.read(source)))

    assert source.tell() < 2_000_000
