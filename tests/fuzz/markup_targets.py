"""Markup to running text and back."""

from contextlib import suppress
from random import Random

from hypothesis import strategies as st

from service.markup.marked_up import parse
from service.markup.options import MarkupError, MarkupLanguage, MarkupOptions
from tests.fuzz.target import Target, World, decode, encode, seeded
from tests.markup.documents import HTML, XML
from tests.markup.translations import any_translation, as_it_is

HTML_TOKENS = tuple(
    encode(token)
    for token in [
        *(
            "<b>",
            "</b>",
            "<p",
            ">",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "<?",
            "&",
            "&#x110000;",
            "&#0;",
            "<svg>",
        ),
        *("</svg>", "<script>", "</script", "<textarea>", "<plaintext>", "\0", "\ud800", "'", '"', "=", "/>"),
    ]
)
XML_TOKENS = (
    *HTML_TOKENS,
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"&b;",
    b"xmlns:x='y'",
    b"<x:y/>",
    b"<?xml version",
)
SEEDS = (b"<p>a <b>c</b> d.</p>", b"<doc a='1'>x<!-- y --><z/>w</doc>")


def check_markup(language: MarkupLanguage, data: bytes) -> None:
    """Markup is its own translation; with any translation, tags of elements are written without an error."""
    markup = decode(data)
    for tags in (frozenset[str](), frozenset({"b", "doc"})):
        options = MarkupOptions(language, ignore_tags=tags, splitting_tags=tags - {"b"})
        with suppress(MarkupError):
            marked_up = parse(markup, options)

            assert marked_up.rejoin([as_it_is(block) for block in marked_up.blocks]) == markup
            random = Random(len(data))  # noqa: S311 -- the same input is to give the same find
            marked_up.rejoin([any_translation(random, block) for block in marked_up.blocks])


def html(_world: World, data: bytes) -> None:
    check_markup(MarkupLanguage.HTML, data)


def xml(_world: World, data: bytes) -> None:
    check_markup(MarkupLanguage.XML, data)


TARGETS = (
    Target("markup-html", st.one_of(seeded(SEEDS, HTML_TOKENS), HTML.map(encode)), html),
    Target("markup-xml", st.one_of(seeded(SEEDS, XML_TOKENS), XML.map(encode)), xml),
)
