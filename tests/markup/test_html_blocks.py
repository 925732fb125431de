"""What of HTML is translated, and as which texts."""

import pytest

from service.text.options import MarkupLanguage, MarkupOptions
from tests.markup.marked import parse

HTML = MarkupOptions(MarkupLanguage.HTML)


def blocks(html: str, options: MarkupOptions = HTML) -> tuple[str, ...]:
    return parse(html, options).blocks


@pytest.mark.parametrize(
    ("html", "expected"),
    [
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
    ],
)
def test_blocks_and_line_breaks_part_texts_and_references_are_read_as_browsers_read_them(
    html: str, expected: tuple[str, ...]
) -> None:
    assert blocks(html) == expected


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>\n  One\n  <b> two</b> </p>", "One two"),
        ("un<b>believ</b>able", "unbelievable"),
        ("one<img>two", "one two"),
        ("(<img>)", "()"),
        ("a\u00a0\u00a0b", "a\u00a0\u00a0b"),
        ("<pre>a\n</pre> b", "a"),
    ],
)
def test_white_space_is_what_a_reader_sees(html: str, expected: str) -> None:
    assert blocks(html)[0] == expected


@pytest.mark.parametrize(
    "ignored",
    [
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
    ],
)
def test_ignored_content_is_not_in_the_text(ignored: str) -> None:
    options = MarkupOptions(MarkupLanguage.HTML, ignore_tags=frozenset(["X"]))

    assert blocks(f"<div>See {ignored} here.</div>", options) == ("See here.",)


def test_a_line_break_that_must_not_part_texts_is_white_space() -> None:
    options = MarkupOptions(MarkupLanguage.HTML, non_splitting_tags=frozenset(["BR"]))

    assert blocks("One.<br>Two <br> three", options) == ("One. Two three",)


def test_options_change_which_tags_part_texts() -> None:
    options = MarkupOptions(
        MarkupLanguage.HTML,
        splitting_tags=frozenset(["br", "LI"]),
        non_splitting_tags=frozenset(["li", "DIV"]),
    )

    assert blocks("a<br>b <div>c</div><li>d", options) == ("a", "b c", "d")
