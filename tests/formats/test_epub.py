# ruff: noqa: E501 -- markup is read more easily unbroken
"""Books and whole pages, in whatever encoding."""

import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from bench.hostile.files import pack
from service.formats.encodings import CODECS_BY_LABEL
from service.formats.entries import FileFormatError
from service.formats.epub import EpubFormat
from service.formats.html import HtmlFormat, decode_page
from service.text.html_lexemes import LexemeKind, lex
from service.text.options import MarkupLanguage, MarkupOptions
from tests.formats.rewriting import OPTIONS, anything, entries, own, places, rewritten, shouted, texts, unpack
from tests.linear import is_linear
from tests.text.markup.marked import GOOD_HTML, HTML, SEEDS, parse

EPUB = EpubFormat(OPTIONS)
_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles><rootfile '
    'full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
_PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><manifest>'
    '<item id="a" href="kapitel%201.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="b" href="../toc.ncx" media-type="application/x-dtbncx+xml"/>'
    '<item id="c" href="stil.css" media-type="text/css"/></manifest></package>'
)
_CHAPTER = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x.dtd">\n'
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Titel</title><style>p {{}}</style></head><body>'
    '{}<p><a id="s1"/>Ein <i>schöner</i>&nbsp;Satz.<br/>Neu &amp; da.</p><pre xml:space="preserve">a\n b</pre>'
    "<p><code>x</code> ist <b>gut</b></p></body></html>"
)
_TOC = (
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Kapitel</text></navLabel>'
    '<content src="OEBPS/kapitel%201.xhtml"/></navPoint></navMap></ncx>'
)


def _epub(chapter: str | bytes = _CHAPTER.format(""), **others: str) -> bytes:
    members: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": _CONTAINER,
        "OEBPS/content.opf": _PACKAGE,
        "OEBPS/kapitel 1.xhtml": chapter,
        "OEBPS/stil.css": "p {}",
        "toc.ncx": _TOC,
    }
    return pack(members | others)


def test_chapters_and_the_table_of_contents_are_read() -> None:
    assert places(EPUB, _epub()) == [
        ("Titel", "OEBPS/kapitel 1.xhtml, block 1"),
        (
            '<x i="0"/>Ein <g i="1">schöner</g><x i="3"/>Satz.<br i="4"/>Neu &amp; da.',
            "OEBPS/kapitel 1.xhtml, block 2",
        ),
        ("a\n b", "OEBPS/kapitel 1.xhtml, block 3"),
        ('<x i="0"/> ist <g i="1">gut</g>', "OEBPS/kapitel 1.xhtml, block 4"),
        ("Kapitel", "toc.ncx, block 1"),
    ]


def test_a_book_changes_in_its_words_only() -> None:
    result = rewritten(EPUB, _epub(), shouted)

    expected = (
        _CHAPTER.format("")
        .replace("<title>Titel", "<title>TITEL")
        .replace(
            "Ein <i>schöner</i>&nbsp;Satz.<br/>Neu &amp; da.",
            "EIN <i>SCHÖNER</i>&nbsp;SATZ.<br/>NEU &amp; DA.",
        )
        .replace("a\n b</pre>", "A\n B</pre>")
        .replace(" ist <b>gut", " IST <b>GUT")
    )
    wanted = unpack(_epub(expected)) | {"toc.ncx": _TOC.replace("Kapitel<", "KAPITEL<").encode()}
    assert unpack(result) == wanted
    assert result[30:58] == b"mimetypeapplication/epub+zip"


_TITLED = _PACKAGE.replace(
    "<manifest>",
    '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title id="t">Ein &amp; Titel</dc:title>'
    "<dc:creator>Ein Mensch</dc:creator><dc:language> de-AT </dc:language><dc:language>la</dc:language>"
    "</metadata><manifest>",
).replace("<package ", '<package xml:lang="de" ')


def test_titles_of_a_book_are_translated_after_its_chapters_and_its_language_is_that_of_the_target() -> None:
    content = _epub(**{"OEBPS/content.opf": _TITLED})

    result = unpack(rewritten(EPUB, content, shouted))["OEBPS/content.opf"].decode()

    assert places(EPUB, content)[-1] == ("Ein & Titel", "OEBPS/content.opf, title 1")
    assert result == (
        _TITLED.replace("Ein &amp; Titel", "EIN &amp; TITEL")
        .replace("<dc:language> de-AT </dc:language>", "<dc:language>en</dc:language>")
        .replace('xml:lang="de"', 'xml:lang="en"')
    )
    assert unpack(rewritten(EPUB, content, own)) == unpack(content)
    without_title = rewritten(EPUB, content, lambda it: it.text if "Titel" in it.text else shouted(it))
    assert "<dc:language>en</dc:language>" in unpack(without_title)["OEBPS/content.opf"].decode()


UTF_16 = "<?xml version='1.0' encoding='UTF-16'?><html><p>Größe</p></html>"
CHAPTERS = [
    (
        b"<html xmlns='http://www.w3.org/1999/xhtml' lang='de' xml:lang=\"de-DE\"><!-- <p lang='de'> --><body><p title='lang=\"de\" x'>Ja <i lang='fr'>oui</i> <i xml:lang='DE'>nein</i></p></body></html>",
        b"<html xmlns='http://www.w3.org/1999/xhtml' lang='en' xml:lang=\"en\"><!-- <p lang='de'> --><body><p title='lang=\"de\" x'>JA <i lang='fr'>OUI</i> <i xml:lang='en'>NEIN</i></p></body></html>",
    ),
    (
        b"<html><a>x<p>y</p>z</a><div><b>q</b></div></html>",
        b"<html><a>X<p>Y</p>Z</a><div><b>Q</b></div></html>",
    ),
    *(
        (UTF_16.encode(encoding), UTF_16.replace("Größe", "GRÖSSE").encode(encoding))
        for encoding in ("utf-16", "utf-16-le", "utf-16-be")
    ),
]


@pytest.mark.parametrize(("chapter", "result"), CHAPTERS)
def test_language_attributes_of_changed_text_name_the_target_language_in_any_encoding(
    chapter: bytes, result: bytes
) -> None:
    content = _epub(chapter)

    assert unpack(rewritten(EPUB, content, shouted))["OEBPS/kapitel 1.xhtml"] == result
    assert unpack(rewritten(EPUB, content, own)) == unpack(content)


@settings(max_examples=100)
@given(SEEDS)
def test_for_any_translation_a_chapter_is_well_formed_and_keeps_its_elements(random: Random) -> None:
    content = _epub(_CHAPTER.format("<p>a <b>b <i>c</i></b><img src='x'/></p>"))
    parser = etree.XMLParser(load_dtd=False, resolve_entities=False)

    before, after = (
        etree.fromstring(unpack(one)["OEBPS/kapitel 1.xhtml"], parser)
        for one in (content, rewritten(EPUB, content, anything(random)))
    )

    assert sorted(str(one.tag) for one in after.iter()) == sorted(str(one.tag) for one in before.iter())


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
