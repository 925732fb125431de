"""Tags begin and end where the HTML standard says (13.2.5), whatever they hold."""

from itertools import pairwise

import pytest
from hypothesis import given, settings

from service.text.html_lexemes import LexemeKind, lex
from tests.text.markup.documents import BROKEN_HTML


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
