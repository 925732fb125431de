"""Whole pages, in whatever encoding."""

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
from tests.text.markup.documents import GOOD_HTML, HTML
from tests.text.markup.marked import parse
from tests.text.markup.translations import SEEDS

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


@pytest.mark.parametrize(
    ("html", "codec"),
    [
        ('<!doctype html><meta charset="ISO-8859-1"><p>Größe in €</p>', "cp1252"),
        ('<!doctype html><meta charset="windows-1251"><p>жук</p>', "cp1251"),
        ('<!doctype html><meta charset="Shift_JIS"><p>漢字</p>', "cp932"),
        ('<!doctype html><meta charset="utf-16"><p>Größe</p>', "utf-8"),
        ('<meta charset="latin1">Größe', "latin1"),
        ("<META CHARSET=latin1>Größe", "latin1"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=latin1">Größe', "latin1"),
        ("<!-- <meta charset=utf-8> --><meta charset='latin1'>Größe", "latin1"),
        # A byte order mark counts for more than a declaration.
        ('<meta charset="latin1">Größe', "utf-8-sig"),
    ],
)
def test_html_is_read_and_written_as_its_declaration_says_and_browsers_take_it(html: str, codec: str) -> None:
    found = decode_page(html.encode(codec))

    assert found.text == html
    assert found.write(html) == html.encode(codec)


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
