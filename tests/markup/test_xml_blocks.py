"""What of XML is translated, and as which texts; what is refused."""

import pytest

from service.text.options import MarkupError, MarkupLanguage, MarkupOptions
from service.text.xml_tokens import MAX_DEPTH
from tests.markup.marked import parse
from tests.markup.translations import as_one, segment, shift, translation

XML = MarkupOptions(MarkupLanguage.XML)
BOMB = (
    '<!DOCTYPE r [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY a{i} "&a{i - 1};&a{i - 1};">' for i in range(1, 40))
    + "]><r>&a39;</r>"
)


def blocks(xml: str, options: MarkupOptions = XML) -> tuple[str, ...]:
    return parse(xml, options).blocks


@pytest.mark.parametrize(
    ("xml", "expected"),
    [
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
)
def test_elements_that_stand_among_text_are_part_of_it(xml: str, expected: tuple[str, ...]) -> None:
    assert blocks(xml) == expected


def test_options_change_which_tags_part_texts() -> None:
    xml = "<d><p>One <b>two</b></p><p>three</p></d>"

    assert blocks(xml, MarkupOptions(MarkupLanguage.XML, splitting_tags=frozenset("b"))) == (
        "One", "two", "three",
    )  # fmt: skip
    assert blocks(xml, MarkupOptions(MarkupLanguage.XML, non_splitting_tags=frozenset("p"))) == (
        "One twothree",
    )
    assert blocks(xml, MarkupOptions(MarkupLanguage.XML, finds_outline=False)) == ("One twothree",)
    assert blocks("<d>a<br/>b</d>", MarkupOptions(MarkupLanguage.XML, finds_outline=False)) == ("a b",)
    assert blocks(
        xml, MarkupOptions(MarkupLanguage.XML, splitting_tags=frozenset("p"), finds_outline=False)
    ) == ("One two", "three")


def test_names_are_compared_as_they_are_written() -> None:
    options = MarkupOptions(MarkupLanguage.XML, ignore_tags=frozenset("x"))

    assert blocks("<d>a <x>no</x> <X>yes</X></d>", options) == ("a yes",)


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
