"""The bytes of a page as text and back, whatever encoding it is in."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.encodings import CODECS_BY_LABEL
from service.formats.entries import FileFormatError
from service.formats.html import decode_page


def page(charset: str, text: str = "") -> str:
    return f'<!doctype html><meta charset="{charset}"><p>{text}</p>'


@pytest.mark.parametrize(
    ("declared", "codec"),
    [("ISO-8859-1", "cp1252"), ("windows-1251", "cp1251"), ("Shift_JIS", "cp932"), ("utf-16", "utf-8")],
)
def test_html_is_read_as_its_declaration_says_and_browsers_take_it(declared: str, codec: str) -> None:
    text = page(declared, "abc")
    found = decode_page(text.encode(codec))
    assert (found.text, found.writing.encoding) == (text, codec)


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="latin1">',
        "<META CHARSET=latin1>",
        '<meta http-equiv="Content-Type" content="text/html; charset=latin1">',
        "<!-- <meta charset=utf-8> --><meta charset='latin1'>",
    ],
)
def test_a_declaration_is_found_however_it_is_written(head: str) -> None:
    found = decode_page(f"{head}Größe".encode("latin1"))
    assert found.text == f"{head}Größe"
    assert found.write(found.text) == f"{head}Größe".encode("latin1")


def test_a_byte_order_mark_counts_for_more_than_a_declaration() -> None:
    content = codecs.BOM_UTF8 + page("latin1", "Größe").encode()
    assert "Größe" in decode_page(content).text


def test_every_label_has_a_codec_that_reads_ascii() -> None:
    for label, codec in CODECS_BY_LABEL.items():
        assert b"<p>Az0</p>".decode(codec) == "<p>Az0</p>", label


@given(st.binary())
def test_any_bytes_are_read_or_rejected(content: bytes) -> None:
    try:
        found = decode_page(content)
    except FileFormatError:
        return
    assert found.write(found.text) == content
