"""Tags begin and end where the HTML standard says (13.2.5), whatever they hold."""

from itertools import pairwise

import pytest
from hypothesis import given, settings

from service.markup.html_lexemes import LexemeKind, lex
from tests.markup.documents import BROKEN_HTML

TEXT, START, END, OTHER = LexemeKind


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("a<b>c</b>", [(TEXT, "a"), (START, "<b>"), (TEXT, "c"), (END, "</b>")]),
        ('<a x=">" y=\'>\' z=">>', [(OTHER, '<a x=">" y=\'>\' z=">>')]),
        ("<a x=\">\" y='>'>t", [(START, "<a x=\">\" y='>'>"), (TEXT, "t")]),
        # A quotation mark only begins a value right after the equals sign.
        ('<a x">t', [(START, '<a x">'), (TEXT, "t")]),
        ("<a x=b'>t", [(START, "<a x=b'>"), (TEXT, "t")]),
        ("<a x = '>'>t", [(START, "<a x = '>'>"), (TEXT, "t")]),
        ('<a =">">t', [(START, '<a =">'), (TEXT, '">t')]),
        ("<a x=>t", [(START, "<a x=>"), (TEXT, "t")]),
        ("</a x='>'>t", [(END, "</a x='>'>"), (TEXT, "t")]),
        ("a < b <3 <é", [(TEXT, "a < b <3 <é")]),
        ("a</", [(TEXT, "a</")]),
        ("a</>b", [(TEXT, "a"), (OTHER, "</>"), (TEXT, "b")]),
        ("</ b>c", [(OTHER, "</ b>"), (TEXT, "c")]),
        ("<?php a > b", [(OTHER, "<?php a >"), (TEXT, " b")]),
        ("<!-->a", [(OTHER, "<!-->"), (TEXT, "a")]),
        ("<!--->a", [(OTHER, "<!--->"), (TEXT, "a")]),
        ("<!-- > --!>a", [(OTHER, "<!-- > --!>"), (TEXT, "a")]),
        ("<!-- > -- >a", [(OTHER, "<!-- > -- >a")]),
        ("<![CDATA[ > ]]>", [(OTHER, "<![CDATA[ >"), (TEXT, " ]]>")]),
        ("<svg><![CDATA[ > ]]></svg>", [(START, "<svg>"), (OTHER, "<![CDATA[ > ]]>"), (END, "</svg>")]),
        (
            "<svg><![CDATA[ </svg>\r\n> ]]></svg>",
            [(START, "<svg>"), (OTHER, "<![CDATA[ </svg>\r\n> ]]>"), (END, "</svg>")],
        ),
        ("<svg><![CDATA[ >", [(START, "<svg>"), (OTHER, "<![CDATA[ >")]),
        ("<svg/><![CDATA[>", [(START, "<svg/>"), (OTHER, "<![CDATA[>")]),
        ("<title><b></titles></TITLE >", [(START, "<title>"), (TEXT, "<b></titles>"), (END, "</TITLE >")]),
        ("<style><b></style>", [(START, "<style>"), (OTHER, "<b>"), (END, "</style>")]),
        ("<script><!-- </script>", [(START, "<script>"), (OTHER, "<!-- "), (END, "</script>")]),
        (
            "<script><!-- <script> </script> --></script>a",
            [(START, "<script>"), (OTHER, "<!-- <script> </script> -->"), (END, "</script>"), (TEXT, "a")],
        ),
        (
            "<script><!--><script></script>a",
            [(START, "<script>"), (OTHER, "<!--><script>"), (END, "</script>"), (TEXT, "a")],
        ),
        ("<script>a", [(START, "<script>"), (OTHER, "a")]),
        ("<svg><script/></svg>a", [(START, "<svg>"), (START, "<script/>"), (END, "</svg>"), (TEXT, "a")]),
        (
            "<math><title><b></title></math><title><b></title>",
            [
                *[(START, "<math>"), (START, "<title>"), (START, "<b>"), (END, "</title>"), (END, "</math>")],
                *[(START, "<title>"), (TEXT, "<b>"), (END, "</title>")],
            ],
        ),
        (
            "<noscript><b>a</noscript>",
            [(START, "<noscript>"), (START, "<b>"), (TEXT, "a"), (END, "</noscript>")],
        ),
        ("<style></></style></>", [(START, "<style>"), (OTHER, "</>"), (END, "</style>"), (OTHER, "</>")]),
        (
            "a</>&lt;b</></>c</></",
            [
                (TEXT, "a"),
                (OTHER, "</>"),
                (TEXT, "&lt;b"),
                (OTHER, "</>"),
                (OTHER, "</>"),
                (TEXT, "c"),
                (OTHER, "</>"),
                (TEXT, "</"),
            ],
        ),
        ("a<b x='</>", [(TEXT, "a"), (OTHER, "<b x='</>")]),
        ("a\r\n<b\r\nx='\r\n'>\r\r\n", [(TEXT, "a\r\n"), (START, "<b\r\nx='\r\n'>"), (TEXT, "\r\r\n")]),
        ("\0<b\0>\ud800", [(TEXT, "\0"), (START, "<b\0>"), (TEXT, "\ud800")]),
        ("&#;<b>", [(TEXT, "&#;"), (START, "<b>")]),
        ("<![x", [(OTHER, "<![x")]),
        ("a<?x", [(TEXT, "a"), (OTHER, "<?x")]),
        ("<plaintext></plaintext>", [(START, "<plaintext>"), (OTHER, "</plaintext>")]),
    ],
)
def test_tags_end_where_browsers_have_them_end(html: str, expected: list[tuple[LexemeKind, str]]) -> None:
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


@settings(max_examples=2000)
@given(BROKEN_HTML)
def test_lexemes_are_all_of_a_document_and_characters_all_of_its_text(html: str) -> None:
    lexemes = list(lex(html))

    assert "".join(lexeme.raw for lexeme in lexemes) == html
    for lexeme in lexemes:
        assert lexeme.raw
        if lexeme.kind is TEXT:
            text, raws = lexeme.characters
            assert text
            assert len(text) == len(raws)
            assert "".join(raws) == lexeme.raw
        else:
            assert not lexeme.characters.text


@settings(max_examples=300)
@given(BROKEN_HTML)
def test_no_text_stands_beside_another(html: str) -> None:
    kinds = [lexeme.kind for lexeme in lex(html)]

    assert (TEXT, TEXT) not in pairwise(kinds)
