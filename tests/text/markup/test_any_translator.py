"""Markup survives whatever a translator says, byte for byte, and at linear cost."""

from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from random import Random
from xml.parsers import expat

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from dragoman.types import Translation
from service.text.html_lexemes import LexemeKind, lex
from service.text.html_tokens import html_tokens
from service.text.options import MarkupError, MarkupLanguage, MarkupOptions
from service.text.xml_tokens import xml_tokens
from tests.linear import is_linear
from tests.text.markup.marked import (
    GOOD_HTML,
    HTML,
    HTML_OPTIONS,
    SEEDS,
    XML,
    XML_OPTIONS,
    Parsed,
    any_translation,
    as_it_is,
    parse,
    translation,
)

Path = tuple[str, ...]


def rejoined(random: Random, marked_up: Parsed) -> str:
    return marked_up.translate(lambda text: any_translation(random, text))


def lexemes(html: str) -> Counter[str]:
    return Counter(lexeme.raw for lexeme in lex(html) if lexeme.kind is not LexemeKind.TEXT)


class _Paths(HTMLParser):
    """Names of the elements around each tag and comment, its own last, in well-nested HTML."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.paths: Counter[Path] = Counter()
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.paths[(*self._open, tag)] += 1
        if tag not in {"br", "img", "wbr"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_comment(self, data: str) -> None:
        self.paths[(*self._open, "<!--", data)] += 1


def xml_paths(xml: str) -> Counter[Path]:
    """The same of XML; fragments are in an element of no name."""
    is_document = "<?xml" in xml or "<!DOCTYPE doc" in xml
    parser = expat.ParserCreate("utf-8")
    inside: list[str] = []
    paths: list[Path] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        inside.append(f"{name} {attributes}")
        paths.append(tuple(inside))

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: inside.pop()
    parser.CommentHandler = lambda text: paths.append((*inside, "<!--", text))
    parser.ProcessingInstructionHandler = lambda *text: paths.append((*inside, "<?", *text))
    parser.Parse((xml if is_document else f"<r>{xml}</r>").encode(), True)  # noqa: FBT003 -- by position only
    return Counter(paths)


@settings(max_examples=500)
@given(XML, XML_OPTIONS, SEEDS)
def test_xml_is_well_formed_and_every_mark_is_there_once_where_it_belongs(
    xml: str, options: MarkupOptions, random: Random
) -> None:
    translated = rejoined(random, parse(xml, options))

    assert xml_paths(translated) == xml_paths(xml)


@settings(max_examples=400)
@given(HTML, HTML_OPTIONS, SEEDS)
@example("&#65<&#65&#;", MarkupOptions(MarkupLanguage.HTML), Random(53))  # noqa: S311 -- says `<A`, no tag
def test_html_has_every_mark_once(html: str, options: MarkupOptions, random: Random) -> None:
    translated = rejoined(random, parse(html, options))

    assert lexemes(translated) == lexemes(html)


@settings(max_examples=400)
@given(GOOD_HTML, SEEDS)
@example("<code>x</code><b><br>Hello</b>", Random(0))  # noqa: S311 -- repeatable
def test_well_nested_html_stays_well_nested(html: str, random: Random) -> None:
    translated = rejoined(random, parse(html, MarkupOptions(MarkupLanguage.HTML)))

    assert _Paths(translated).paths == _Paths(html).paths


@settings(max_examples=400)
@given(HTML, SEEDS)
def test_the_text_is_the_translators(html: str, random: Random) -> None:
    options = MarkupOptions(MarkupLanguage.HTML)
    marked_up = parse(html, options)
    assume(not any("\n" in text for text in marked_up.blocks))  # lines may be asked for again, one by one
    said = ""

    def engine(text: str) -> Translation:
        nonlocal said
        found = any_translation(random, text)
        said += found.text
        return found

    again = parse(marked_up.translate(engine), options)
    assert "".join("".join(again.blocks).split()) == "".join(said.split())


@settings(max_examples=1000)
@given(st.tuples(HTML, HTML_OPTIONS) | st.tuples(XML, XML_OPTIONS))
@example(("Hello<b>x </b><b></b>", MarkupOptions(MarkupLanguage.XML)))
def test_markup_translated_to_itself_is_itself(case: tuple[str, MarkupOptions]) -> None:
    markup, options = case
    tokens = html_tokens if options.language is MarkupLanguage.HTML else xml_tokens

    assert "".join(token.raw for token in tokens(markup, options)) == markup
    assert parse(markup, options).translate(as_it_is) == markup


_ANYTHING = st.text(st.characters(exclude_categories=()) | st.sampled_from("<>&/!-#;"), max_size=40)
_TOKENS = [
    "<p>", "</p>", "a <b>c</b> d.", "<doc a='1'>", "</doc>", "<b>", "</b>", "<p", ">", "<!--", "-->", "<?",
    "&", "<![CDATA[", "]]>", "&#x110000;", "&#0;", "<svg>", "<script>", "</script", "<textarea>", "\0", "'",
    '"', "=", "/>", "\ud800", "<!DOCTYPE a [<!ENTITY b 'c'>]>", "&b;", "xmlns:x='y'", "<x:y/>",
    "<?xml version",
]  # fmt: skip


@settings(max_examples=300)
@given(_ANYTHING | st.lists(st.sampled_from(_TOKENS), max_size=10).map("".join), XML_OPTIONS | HTML_OPTIONS)
def test_any_text_is_html_and_is_xml_or_rejected(text: str, options: MarkupOptions) -> None:
    try:
        marked_up = parse(text, options)
    except MarkupError:
        assert options.language is MarkupLanguage.XML
        return

    assert marked_up.translate(as_it_is) == text


UNFINISHED = (
    "<!--", "<a ", "<a b='", "<a b=c", "<a b='&amp;' ", "</a", "<?", "<![CDATA[", "&#;", "&", "<", "]",
    "<svg>", "<script>", "<script><!--", "<title>", "<plaintext></>", "<svg><![CDATA[", "<!-- <title>",
)  # fmt: skip
"""Little is found in these, and much of it looked for to the end."""
UNITS = (
    "<b>", "<div>x", "<b><hr>", "<p><b>x", "</b>x ", "<img> x ", "<!---->x ", "<!----> ", "</>", "a</>",
    "&notit;", "<svg><title>", "<noscript>", "<svg><![CDATA[]]>", "<svg></svg>",
    "<p>Hello <b>big <i>world</i></b>.</p>\n",
)  # fmt: skip
DEEP = {
    "deep": lambda size: "a <b>" * size + "x" + "</b> c" * size,
    "deep around one word": lambda size: "w <b>" + "<b>" * size + "x" + "</b>" * size + " y</b> z",
}
DOCUMENTS: dict[str, Callable[[int], str]] = {
    **{unit: unit.__mul__ for unit in (*UNFINISHED, *UNITS, "<b>a</b> ")},
    **DEEP,
}


@pytest.mark.parametrize("title", DOCUMENTS)
def test_work_is_linear_in_the_size_of_html(title: str) -> None:
    def translate(size: int) -> None:
        html = DOCUMENTS[title](size)
        marked_up = parse(html, MarkupOptions(MarkupLanguage.HTML))

        assert marked_up.translate(as_it_is) == html
        marked_up.translate(lambda text: translation(f"x {text}", []))

    assert is_linear(translate, 50)


@pytest.mark.parametrize("title", DEEP)
def test_depth_of_html_takes_no_stack(title: str) -> None:
    html = DEEP[title](5000)

    assert parse(html, MarkupOptions(MarkupLanguage.HTML)).translate(as_it_is) == html


def test_xml_as_deep_as_may_be_is_translated() -> None:
    xml = "<b>a " * 999 + "x" + "</b>" * 999
    marked_up = parse(xml, MarkupOptions(MarkupLanguage.XML))

    translated = marked_up.translate(lambda text: translation(f"x {text}", []))

    assert translated.count("<b>") == translated.count("</b>") == 999
