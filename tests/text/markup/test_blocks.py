"""What of HTML and XML is translated, and as which texts; what is refused."""

from collections.abc import Mapping, Sequence

import pytest

from service.text.options import MarkupError, MarkupLanguage, MarkupOptions
from service.text.xml_parser import MAX_DEPTH
from tests.text.markup.marked import parse
from tests.text.markup.translations import as_one, segment, shift, translation

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
