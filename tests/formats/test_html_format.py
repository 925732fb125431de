"""Whole pages, in whatever encoding."""

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.formats.encodings import CODECS_BY_LABEL
from service.formats.entries import FileFormatError
from service.formats.html import HtmlFormat, decode_page
from service.text.html_lexemes import LexemeKind, lex
from service.text.options import MarkupLanguage, MarkupOptions
from tests.formats.rewriting import OPTIONS, anything, entries, own, rewritten, shouted, texts
from tests.linear import is_linear
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


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<p>{% trans %}Seit <b>{{ t }}</b>{% endtrans %}</p>", ['Seit <g i="0">{{ t }}</g>']),
        ("<p>{{#if a}}Ja{{else}}Noch nicht{{/if}}</p>", ["Ja", "Noch nicht"]),
        ("<a>Mehr</a> {# Notiz #} {% comment %}Notiz{% endcomment %}", ["Mehr"]),
        ("<p>Hallo <%= a.b %>, guten Tag.</p>", ['Hallo <x i="0"/>, guten Tag.']),
        ("<p><% if a %>Hallo<% end %> Welt</p>", ["Hallo", "Welt"]),
        ("<p>Hallo <?php echo $a->b; ?>, du</p>", ['Hallo <x i="0"/>, du']),
        ("<?php if ($a > 1): ?>eins<?php endif ?>", ["eins"]),
        ("<#if a??>Hallo<#else>Gast</#if>", ["Hallo", "Gast"]),
        ("<p>Hallo <b>eins {% if a %} zwei</b> drei</p>", ["Hallo", "eins", "zwei", "drei"]),
        ('<a href="<%= a > b %>">Haus</a><script>{% if a %}x{% endif %}</script>', ["Haus"]),
        ("{% raw %}<p>Haus</p>{% endraw %}{{!-- Haus --}}", []),
    ],
)  # fmt: skip
def test_control_tags_of_templates_part_texts_and_expressions_stay_as_they_are(
    html: str, found: list[str]
) -> None:
    assert texts(PAGES, html.encode()) == found
    result = rewritten(PAGES, html.encode(), shouted).decode()
    assert _TEMPLATE_TAGS.findall(result) == _TEMPLATE_TAGS.findall(html)


_TEMPLATE_TAGS = re.compile(r"<[%?#].*?>|\{[%#].*?[%#]\}|\{\{[#/!^{].*?\}\}")


_SIGNS = "{% %} {{ }} <% %> <?php ?> {# #} <b> </b> <p> ja if &lt; /"


@given(st.lists(st.sampled_from([*_SIGNS.split(), " "])).map("".join))
def test_any_tags_of_templates_come_back(html: str) -> None:
    assert rewritten(PAGES, html.encode(), own).decode() == html


def test_tags_of_templates_take_linear_work() -> None:
    assert is_linear(
        lambda size: rewritten(PAGES, ("a{% if %}<b>{{#x}}</b><% {{! {# <? " * size).encode(), own)
    )
