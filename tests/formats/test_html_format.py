"""Whole pages, in whatever encoding."""

import codecs
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.formats.encodings import CODECS_BY_LABEL
from service.formats.entries import FileFormatError
from service.formats.html import HtmlFormat, decode_page
from service.text.html_lexemes import LexemeKind, lex
from service.text.options import MarkupLanguage, MarkupOptions
from tests.formats.rewriting import OPTIONS, anything, entries, own, rewritten
from tests.markup.documents import GOOD_HTML, HTML
from tests.markup.marked import parse
from tests.markup.translations import SEEDS

PAGES = HtmlFormat(OPTIONS)


@settings(max_examples=200)
@given(HTML)
def test_any_page_comes_back_with_its_own_text(html: str) -> None:
    content = html.encode("utf-8", "replace")

    assert rewritten(PAGES, content, own) == content


@settings(max_examples=100)
@given(GOOD_HTML)
def test_entries_are_the_blocks_that_readers_see(html: str) -> None:
    blocks = parse(html, MarkupOptions(MarkupLanguage.HTML)).blocks
    found = entries(PAGES, html.encode())

    assert len(found) == len(blocks)


def _tags(html: str) -> list[str]:
    """Tags in the order of the alphabet."""
    return sorted(lexeme.raw for lexeme in lex(html) if lexeme.kind in {LexemeKind.START, LexemeKind.END})


@settings(max_examples=100)
@given(GOOD_HTML, SEEDS)
def test_for_any_translation_each_tag_is_there_once(html: str, random: Random) -> None:
    result = rewritten(PAGES, html.encode(), anything(random)).decode()

    assert _tags(result) == _tags(html)


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
