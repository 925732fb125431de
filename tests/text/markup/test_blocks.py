"""Where tags of HTML and XML begin and end, what is translated as which texts, and what is refused."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings

from service.text.html_lexemes import LexemeKind, lex
from service.text.options import MarkupError, MarkupLanguage, MarkupOptions
from service.text.xml_parser import MAX_DEPTH
from tests.text.markup.marked import BROKEN_HTML, as_one, parse, segment, shift, translation

HTML, XML = MarkupOptions(MarkupLanguage.HTML), MarkupOptions(MarkupLanguage.XML)
BOMB = (
    '<!DOCTYPE r [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY a{i} "&a{i - 1};&a{i - 1};">' for i in range(1, 40))
    + "]><r>&a39;</r>"
)
IGNORED = (
    "<code>no <b>no</b></code>",
    "<kbd>no</kbd>",
    "<samp>no</samp>",
    "<var>no</var>",
    "<script>no</script>",
    "<style>no</style>",
    "<textarea>no</textarea>",
    "<svg><title>no</title></svg>",
    "<math><mi>no</mi></math>",
    '<span translate="no">no <span>no</span> no</span>',
    "<span TRANSLATE=NO><p>no</p></span>",
    "<b class='x notranslate y'>no</b>",
    "<x>no</x>",
)
"""Elements whose content is not in the text."""
XML_PARTS = "<d><p>One <b>two</b></p><p>three</p></d>"
BLOCKS: Mapping[MarkupOptions, Sequence[tuple[str, Sequence[str]]]] = {
    HTML: [
        ("<p>One <b>two</b> three.</p><p>Four.</p>", ("One two three.", "Four.")),
        ("<p>One<p>Two", ("One", "Two")),
        ("<ul><li>One<li>Two</ul>Three", ("One", "Two", "Three")),
        ("<title>A &lt; <b></title>", ("A < <b>",)),
        ("<td>&nbsp;</td><td> \n</td>", ()),
        ('<img alt="A dog"><a title="A cat" aria-label="x"></a><input placeholder="y">', ()),
        ("<!DOCTYPE html><!-- no -->Yes", ("Yes",)),
        ("<noscript><p>One</p>Two</noscript>Three", ("One", "Two", "Three")),
        ("<p>One<svg><script/><title/></svg></p>Two", ("One", "Two")),
        ("&lt;b&gt; &amp;amp; &#8211;&#x2013;", ("<b> &amp; \u2013\u2013",)),
        ("AT&T &copy 2 &notit; &bogus; &", ("AT&T © 2 ¬it; &bogus; &",)),
        ("&NotEqualTilde;", ("\u2242\u0338",)),
        ("a&#xFDD0;b", ("a\ufdd0b",)),
        ("&#128;&#0;&#xD800;", ("\u20ac\ufffd\ufffd",)),
        ("&ampamp; &notnot", ("&amp; ¬not",)),
        # An ignored element without an end tag ends as in a browser.
        ("<p>a <span translate=no>no<p>yes", ("a", "yes")),
        ("<ul><li translate=no>no<b>no<li>yes</ul>", ("yes",)),
        ("<div class=notranslate>no<p>no</div>yes", ("yes",)),
        # A line break parts lines, and is not part of the text at an edge.
        ("One<br>two", ("One\ntwo",)),
        ("<p>One <b>two <br/> three</b></p>", ("One two \nthree",)),
        ("<pre>  a\n   b<br>c</pre>", ("a\n   b\nc",)),
        ("One<br><br>two", ("One\n\ntwo",)),
        ("<br>One<img><br> ", ("One",)),
        # White space is what a reader sees.
        ("<p>\n  One\n  <b> two</b> </p>", ("One two",)),
        ("un<b>believ</b>able", ("unbelievable",)),
        ("one<img>two", ("one two",)),
        ("(<img>)", ("()",)),
        ("a\u00a0\u00a0b", ("a\u00a0\u00a0b",)),
        ("<pre>a\n</pre> b", ("a", "b")),
    ],
    MarkupOptions(MarkupLanguage.HTML, ignore_tags=frozenset(["X"])): [
        (f"<div>See {ignored} here.</div>", ("See here.",)) for ignored in IGNORED
    ],
    MarkupOptions(MarkupLanguage.HTML, non_splitting_tags=frozenset(["BR"])): [
        ("One.<br>Two <br> three", ("One. Two three",))
    ],
    MarkupOptions(
        MarkupLanguage.HTML,
        splitting_tags=frozenset(["br", "LI"]),
        non_splitting_tags=frozenset(["li", "DIV"]),
    ): [("a<br>b <div>c</div><li>d", ("a", "b c", "d"))],
    XML: [
        ("<d><p>One <b>two</b>.</p><p><t>Three</t><t>Four</t></p></d>", ("One two.", "Three", "Four")),
        ("<p>One</p><p>Two</p>", ("One", "Two")),
        ('See <x id="1"/> &amp; <b>go</b>', ("See & go",)),
        ("<p>a <n><q>b</q><q>c</q></n> d</p>", ("a", "b", "c", "d")),
        ('<?xml version="1.0" encoding="utf-16"?>\n<!-- no --><d>yes</d>\n', ("yes",)),
        ("<!DOCTYPE d SYSTEM 'file:///etc/passwd'><d>yes &unknown; no</d>", ("yes no",)),
        ("<d><![CDATA[a <b> &amp;]]> c</d>", ("a <b> &amp; c",)),
        ("<d> a\n  b </d>", ("a b",)),
        ("<d>&#x80;&#xfdd0;&#65;&apos;&#x1F600;</d>", ("\x80\ufdd0A'\U0001f600",)),
        ("<d xml:space='preserve'> a\n  b<i xml:space='default'> \n c</i></d>", ("a\n  b c",)),
        ("", ()),
        ("<d>One<br/>two<br></br>three<h:br xmlns:h='x'/>four</d>", ("One\ntwo\nthree\nfour",)),
        ("<d>One<br>two</br>three</d>", ("Onetwothree",)),
    ],
    MarkupOptions(MarkupLanguage.XML, splitting_tags=frozenset("b")): [(XML_PARTS, ("One", "two", "three"))],
    MarkupOptions(MarkupLanguage.XML, non_splitting_tags=frozenset("p")): [(XML_PARTS, ("One twothree",))],
    MarkupOptions(MarkupLanguage.XML, finds_outline=False): [
        (XML_PARTS, ("One twothree",)),
        ("<d>a<br/>b</d>", ("a b",)),
    ],
    MarkupOptions(MarkupLanguage.XML, splitting_tags=frozenset("p"), finds_outline=False): [
        (XML_PARTS, ("One two", "three"))
    ],
    MarkupOptions(MarkupLanguage.XML, ignore_tags=frozenset("x")): [
        ("<d>a <x>no</x> <X>yes</X></d>", ("a yes",))
    ],
}


@pytest.mark.parametrize(
    ("options", "markup", "expected"),
    [(options, *case) for options, cases in BLOCKS.items() for case in cases],
)
def test_blocks_and_line_breaks_part_texts_as_readers_see_them_and_options_say(
    options: MarkupOptions, markup: str, expected: Sequence[str]
) -> None:
    assert parse(markup, options).blocks == expected


@pytest.mark.parametrize(
    ("xml", "problem"),
    [
        ("<a><b></a></b>", "mismatched tag, line 1, column 9"),
        ("a\n</r><r>", "line 2"),
        ("<a>&nbsp;</a>", "undefined entity"),
        ("a < b", "not well-formed"),
        ("\ud800", "surrogate at character 0"),
        ("<a>" * (MAX_DEPTH + 1) + "</a>" * (MAX_DEPTH + 1), "more than 1000 deep"),
        (BOMB, "entity 'a' is declared"),
        ('<!DOCTYPE r [<!ATTLIST r a CDATA "x">]><r/>', "attribute 'a' of 'r' is declared with a default"),
        ("<!DOCTYPE r [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><r>&e;</r>", "entity 'e' is declared"),
        ("<!DOCTYPE r [<!ENTITY % p SYSTEM 'http://x/'> %p;]><r/>", "entity 'p' is declared"),
    ],
)
def test_malformed_markup_is_rejected(xml: str, problem: str) -> None:
    with pytest.raises(MarkupError) as refused:
        parse(xml, XML)

    assert problem in str(refused.value)


@pytest.mark.parametrize(
    ("xml", "source", "said", "result"),
    [
        ("<d><![CDATA[a < b]]></d>", "a < b", "b > a & ]]>", "<d>b &gt; a &amp; ]]&gt;</d>"),
        ("<d>a</d>", "a", "\x00\ud800\uffff\r", "<d>\ufffd\ufffd\ufffd&#13;</d>"),
    ],
    ids=["a section", "what XML cannot write"],
)
def test_changed_text_is_escaped(xml: str, source: str, said: str, result: str) -> None:
    assert parse(xml, XML).rejoin([as_one(source, said)]) == result


def test_a_section_cut_by_a_change_is_plain_text() -> None:
    marked_up = parse("<d><![CDATA[One < two. Three]]></d>", XML)
    (text,) = marked_up.blocks
    kept, changed = "One < two. ", "Drei"
    translated = as_one(text[len(kept) :], changed)

    assert text == "One < two. Three"
    shifted = shift(translated.segments[0], len(kept))
    assert marked_up.rejoin([translation(kept + changed, [shifted])]) == "<d>One &lt; two. Drei</d>"


def test_brackets_cannot_end_a_section_that_never_began() -> None:
    marked_up = parse("<d>x> y</d>", XML)

    changed = translation("]]> y", [segment(0, "x", 0, "]]", None)])

    assert marked_up.rejoin([changed]) == "<d>]&#93;> y</d>"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("a<b>c</b>", [("text", "a"), ("start", "<b>"), ("text", "c"), ("end", "</b>")]),
        ('<a x=">" y=\'>\' z=">>', [("other", '<a x=">" y=\'>\' z=">>')]),
        ("<a x=\">\" y='>'>t", [("start", "<a x=\">\" y='>'>"), ("text", "t")]),
        # A quotation mark only begins a value right after the equals sign.
        ('<a x">t', [("start", '<a x">'), ("text", "t")]),
        ("<a x=b'>t", [("start", "<a x=b'>"), ("text", "t")]),
        ("<a x = '>'>t", [("start", "<a x = '>'>"), ("text", "t")]),
        ('<a =">">t', [("start", '<a =">'), ("text", '">t')]),
        ("<a x=>t", [("start", "<a x=>"), ("text", "t")]),
        ("</a x='>'>t", [("end", "</a x='>'>"), ("text", "t")]),
        ("a < b <3 <é", [("text", "a < b <3 <é")]),
        ("a</", [("text", "a</")]),
        ("a</>b", [("text", "a"), ("other", "</>"), ("text", "b")]),
        ("</ b>c", [("other", "</ b>"), ("text", "c")]),
        ("<?php a > b", [("other", "<?php a >"), ("text", " b")]),
        ("<!-->a", [("other", "<!-->"), ("text", "a")]),
        ("<!--->a", [("other", "<!--->"), ("text", "a")]),
        ("<!-- > --!>a", [("other", "<!-- > --!>"), ("text", "a")]),
        ("<!-- > -- >a", [("other", "<!-- > -- >a")]),
        ("<![CDATA[ > ]]>", [("other", "<![CDATA[ >"), ("text", " ]]>")]),
        ("<svg><![CDATA[ > ]]></svg>", [("start", "<svg>"), ("other", "<![CDATA[ > ]]>"), ("end", "</svg>")]),
        (
            "<svg><![CDATA[ </svg>\r\n> ]]></svg>",
            [("start", "<svg>"), ("other", "<![CDATA[ </svg>\r\n> ]]>"), ("end", "</svg>")],
        ),
        ("<svg><![CDATA[ >", [("start", "<svg>"), ("other", "<![CDATA[ >")]),
        ("<svg/><![CDATA[>", [("start", "<svg/>"), ("other", "<![CDATA[>")]),
        (
            "<title><b></titles></TITLE >",
            [("start", "<title>"), ("text", "<b></titles>"), ("end", "</TITLE >")],
        ),
        ("<style><b></style>", [("start", "<style>"), ("other", "<b>"), ("end", "</style>")]),
        ("<script><!-- </script>", [("start", "<script>"), ("other", "<!-- "), ("end", "</script>")]),
        (
            "<script><!-- <script> </script> --></script>a",
            [
                ("start", "<script>"),
                ("other", "<!-- <script> </script> -->"),
                ("end", "</script>"),
                ("text", "a"),
            ],
        ),
        (
            "<script><!--><script></script>a",
            [("start", "<script>"), ("other", "<!--><script>"), ("end", "</script>"), ("text", "a")],
        ),
        ("<script>a", [("start", "<script>"), ("other", "a")]),
        (
            "<svg><script/></svg>a",
            [("start", "<svg>"), ("start", "<script/>"), ("end", "</svg>"), ("text", "a")],
        ),
        (
            "<math><title><b></title></math><title><b></title>",
            [
                ("start", "<math>"),
                ("start", "<title>"),
                ("start", "<b>"),
                ("end", "</title>"),
                ("end", "</math>"),
                ("start", "<title>"),
                ("text", "<b>"),
                ("end", "</title>"),
            ],
        ),
        (
            "<noscript><b>a</noscript>",
            [("start", "<noscript>"), ("start", "<b>"), ("text", "a"), ("end", "</noscript>")],
        ),
        (
            "<style></></style></>",
            [("start", "<style>"), ("other", "</>"), ("end", "</style>"), ("other", "</>")],
        ),
        (
            "a</>&lt;b</></>c</></",
            [
                ("text", "a"),
                ("other", "</>"),
                ("text", "&lt;b"),
                ("other", "</>"),
                ("other", "</>"),
                ("text", "c"),
                ("other", "</>"),
                ("text", "</"),
            ],
        ),
        ("a<b x='</>", [("text", "a"), ("other", "<b x='</>")]),
        ("a\r\n<b\r\nx='\r\n'>\r\r\n", [("text", "a\r\n"), ("start", "<b\r\nx='\r\n'>"), ("text", "\r\r\n")]),
        ("\0<b\0>\ud800", [("text", "\0"), ("start", "<b\0>"), ("text", "\ud800")]),
        ("&#;<b>", [("text", "&#;"), ("start", "<b>")]),
        ("<![x", [("other", "<![x")]),
        ("a<?x", [("text", "a"), ("other", "<?x")]),
        ("<plaintext></plaintext>", [("start", "<plaintext>"), ("other", "</plaintext>")]),
    ],
)
def test_tags_end_where_browsers_have_them_end(html: str, expected: list[tuple[str, str]]) -> None:
    assert [(lexeme.kind, lexeme.raw) for lexeme in lex(html)] == expected


def test_the_first_attribute_of_a_name_counts() -> None:
    (lexeme,) = lex("<P Translate=No class='a notranslate' translate=yes hidden>")

    assert lexeme.name == "p"
    assert lexeme.attributes == {"translate": "No", "class": "a notranslate", "hidden": ""}


def test_references_in_attributes_are_read() -> None:
    (lexeme,) = lex("<p title='a&amp;b' translate=n&#111; x='&'>")

    assert lexeme.attributes == {"title": "a&b", "translate": "no", "x": "&"}


def test_a_slash_ends_elements_of_svg_and_mathml_only() -> None:
    lexemes = lex("<br/><svg><a/><b x=/><i></svg><math/><a/>")

    assert [lexeme.raw for lexeme in lexemes if lexeme.is_empty] == ["<a/>", "<math/>"]


@pytest.mark.parametrize(
    ("html", "text", "raws"),
    [
        ("a&amp;b", "a&b", ["a", "&amp;", "b"]),
        ("&notit;", "¬it;", ["&not", "i", "t", ";"]),
        ("&NotEqualTilde;x", "\u2242\u0338x", ["&NotEqualTilde;", "", "x"]),
        ("&#x41x&#10", "Ax\n", ["&#x41", "x", "&#10"]),
        ("&bogus;", "&bogus;", list("&bogus;")),
    ],
)
def test_each_character_is_known_by_how_it_is_written(html: str, text: str, raws: list[str]) -> None:
    (lexeme,) = lex(html)

    assert lexeme.characters.text == text
    assert list(lexeme.characters.raws) == raws


@settings(max_examples=600)
@given(BROKEN_HTML)
def test_lexemes_are_all_of_a_document_and_characters_all_of_its_text(html: str) -> None:
    lexemes = list(lex(html))
    kinds = [lexeme.kind for lexeme in lexemes]
    assert (LexemeKind.TEXT, LexemeKind.TEXT) not in pairwise(kinds)

    assert "".join(lexeme.raw for lexeme in lexemes) == html
    for lexeme in lexemes:
        assert lexeme.raw
        if lexeme.kind is LexemeKind.TEXT:
            text, raws = lexeme.characters
            assert text
            assert len(text) == len(raws)
            assert "".join(raws) == lexeme.raw
        else:
            assert not lexeme.characters.text
