"""Markup survives whatever a translator says."""

from collections import Counter
from html.parser import HTMLParser
from random import Random
from xml.parsers import expat

from hypothesis import assume, example, given, settings

from dragoman.types import Translation
from service.text.html_lexemes import LexemeKind, lex
from service.text.options import MarkupLanguage, MarkupOptions
from tests.text.markup.documents import GOOD_HTML, HTML, HTML_OPTIONS, XML, XML_OPTIONS
from tests.text.markup.marked import Parsed, parse
from tests.text.markup.translations import SEEDS, any_translation

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
