"""What a file is taken for, and its bytes as text and back."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.documents.encodings import DECLARABLE
from service.documents.errors import UnknownFormat, UnusableDocument
from service.documents.formats import DocumentFormat, format_of, read_document

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def page(charset: str, text: str = "") -> str:
    return f'<!doctype html><meta charset="{charset}"><p>{text}</p>'


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.txt", DocumentFormat.TEXT),
        ("A.TXT", DocumentFormat.TEXT),
        ("a.b.html", DocumentFormat.HTML),
        ("../../etc/x.HTM", DocumentFormat.HTML),
    ],
)
def test_a_files_name_tells_its_format(name: str, kind: DocumentFormat) -> None:
    assert format_of(name) is kind


@pytest.mark.parametrize("name", ["", "a", "a.docx", "txt", "a.txt.zip", "a.html "])
def test_other_files_are_refused_with_those_known(name: str) -> None:
    with pytest.raises(UnknownFormat, match=r"known are \.txt, \.html, \.htm"):
        format_of(name)


@given(TEXTS, st.sampled_from(["", "utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]))
def test_text_comes_back_byte_for_byte_with_its_mark(text: str, marked: str) -> None:
    marks = {
        "": b"",
        "utf-8": codecs.BOM_UTF8,
        "utf-16-le": codecs.BOM_UTF16_LE,
        "utf-16-be": codecs.BOM_UTF16_BE,
        "utf-32-le": codecs.BOM_UTF32_LE,
        "utf-32-be": codecs.BOM_UTF32_BE,
    }
    # Without a mark, a text that begins with the character of one cannot be told from one that has it; and a
    # NUL after UTF-16's looks like UTF-32's.
    text = text.lstrip("\ufeff\0") if marked in {"", "utf-16-le"} else text
    content = marks[marked] + text.encode(marked or "utf-8")
    document = read_document(content, "a.txt")
    assert document.text == text
    assert document.write(document.text) == content
    assert document.write("Grüße") == marks[marked] + "Grüße".encode(marked or "utf-8")


def test_bytes_that_are_no_utf_8_are_refused_with_their_place() -> None:
    with pytest.raises(UnusableDocument, match=r"'a\.txt': it is not in utf-8: byte 2 .*save it in UTF-8"):
        read_document(b"Gr\xfc\xdfe", "a.txt")


@pytest.mark.parametrize(
    ("declared", "codec"),
    [("ISO-8859-1", "cp1252"), ("windows-1251", "cp1251"), ("Shift_JIS", "cp932"), ("utf-16", "utf-8")],
)
def test_html_is_read_as_its_declaration_says_and_browsers_take_it(declared: str, codec: str) -> None:
    text = page(declared, "abc")
    document = read_document(text.encode(codec), "a.html")
    assert (document.text, document.writing.encoding) == (text, codec)


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
    document = read_document(f"{head}Größe".encode("latin1"), "a.htm")
    assert document.text == f"{head}Größe"
    assert document.write(document.text) == f"{head}Größe".encode("latin1")


def test_a_byte_order_mark_counts_for_more_than_a_declaration() -> None:
    content = codecs.BOM_UTF8 + page("latin1", "Größe").encode()
    assert "Größe" in read_document(content, "a.html").text


def test_a_declaration_in_plain_text_is_text() -> None:
    content = page("latin1", "Größe").encode()
    assert read_document(content, "a.txt").write("ß") == "ß".encode()


def test_an_encoding_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(UnusableDocument, match=r"encoding 'utf-7', which is not known"):
        read_document(page("utf-7").encode(), "a.html")


def test_characters_that_the_encoding_of_a_page_lacks_become_references() -> None:
    document = read_document(page("latin1").encode("latin1"), "a.html")
    assert document.write("<p>Größe 漢</p>") == "<p>Größe &#28450;</p>".encode("latin1")


def test_every_label_has_a_codec_that_reads_ascii() -> None:
    for label, codec in DECLARABLE.items():
        assert b"<p>Az0</p>".decode(codec) == "<p>Az0</p>", label


@given(st.binary(), st.sampled_from(["a.txt", "a.html"]))
def test_any_bytes_are_read_or_refused(content: bytes, name: str) -> None:
    try:
        document = read_document(content, name)
    except UnusableDocument:
        return
    assert document.write(document.text) == content
