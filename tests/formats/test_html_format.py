"""Whole pages."""

from random import Random

from hypothesis import given, settings

from service.formats.html import HtmlFormat
from service.text.html_lexemes import LexemeKind, lex
from service.text.options import MarkupLanguage, MarkupOptions
from tests.formats.rewriting import OPTIONS, anything, entries, own, rewritten, shouted, texts
from tests.markup.documents import GOOD_HTML, HTML
from tests.markup.marked import parse
from tests.markup.translations import SEEDS

PAGES = HtmlFormat(OPTIONS)
PAGE = """<!DOCTYPE html>
<html lang="de"><head><title>A &amp; B</title><style>p {}</style></head>
<body><h1>Ein  <em>schöner</em> Titel</h1>
<p>Zeile eins.<br>Zeile <a href="x" title="y">zwei</a> &lt;<code>code</code></p>
<ul><li>eins<li>zwei</ul><pre>a
  b</pre><script>var x = "<p>nein</p>";</script></body></html>
"""


def test_blocks_are_entries_whose_tags_have_no_names() -> None:
    assert texts(PAGES, PAGE.encode()) == [
        "A & B",
        'Ein <g i="0">schöner</g> Titel',
        'Zeile eins.<br i="0"/>Zeile <g i="1">zwei</g> &lt;<x i="3"/>',
        "eins",
        "zwei",
        "a\n  b",
    ]


def test_words_change_and_nothing_else() -> None:
    expected = (
        PAGE.replace('<html lang="de">', '<html lang="en">')
        .replace("Ein  <em>schöner</em> Titel", "EIN <em>SCHÖNER</em> TITEL")
        .replace("Zeile eins.<br>Zeile", "ZEILE EINS.<br>ZEILE")
        .replace(">zwei</a>", ">ZWEI</a>")
        .replace("<li>eins<li>zwei", "<li>EINS<li>ZWEI")
        .replace("a\n  b</pre>", "A\n  B</pre>")
    )

    assert rewritten(PAGES, PAGE.encode(), shouted).decode() == expected


def test_a_page_declares_another_language_only_if_it_declared_the_source() -> None:
    page = "<html lang='fr'><p lang='de'>Ja</p></html>"

    assert rewritten(PAGES, page.encode(), shouted).decode() == page.replace("Ja", "JA")


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


def test_text_is_escaped() -> None:
    assert rewritten(PAGES, b"<p>x</p>", lambda _: "<script>&amp;") == b"<p>&lt;script&gt;&amp;amp;</p>"


def test_a_declared_encoding_is_kept_and_what_it_lacks_becomes_references() -> None:
    page = '<meta charset="iso-8859-1"><p>Tür</p>'.encode("latin-1")

    assert texts(PAGES, page) == ["Tür"]
    assert rewritten(PAGES, page, lambda _: "Tür 字") == page.replace(b"</p>", b" &#23383;</p>")


def test_readings_of_ruby_stay_and_are_no_part_of_the_sentence() -> None:
    """They are readings of the words of the source."""
    page = b"<p>Das <ruby>Haus<rp>(</rp><rt>H&uuml;tte</rt><rp>)</rp></ruby> ist <ruby>neu<rt>n</ruby></p>"
    [entry] = entries(PAGES, page)

    assert "tte" not in str(entry)
    assert rewritten(PAGES, page, own) == page
