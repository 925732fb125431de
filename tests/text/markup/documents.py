"""HTML and XML at random."""

import re
from collections.abc import Collection
from itertools import combinations

from hypothesis import strategies as st

from service.text.options import MarkupLanguage, MarkupOptions


def _few_or_many(parts: st.SearchStrategy[str]) -> st.SearchStrategy[list[str]]:
    """Lists of their own accord have some five items; few are enough to show what breaks, many find it."""
    return st.lists(parts, max_size=8) | st.lists(parts, min_size=8, max_size=30)


_TEXTS = ["Hello", "world.", "one", "Two.", "a", "12", " ", " ", "\n  ", "\u00a0", "é", "字"]
_HTML_TEXTS = [
    *_TEXTS, "&amp;", "&amp", "&", "&#", "&#;", "&#65", "&#x41;", "&nbsp;", "&notit;", "&NotEqualTilde;",
    "&#xFDD0;", "<", "< ", "<3", ">", "&lt;b&gt;", "]]>", "]", "&bogus;", "&#0;", "\r\n", "\r", "\0",
    "\ud800",
]  # fmt: skip
_NAMES = [
    "b", "i", "a", "span", "em", "code", "p", "div", "li", "td", "br", "img", "x", "svg", "script", "pre",
    "h1", "title", "textarea", "style", "plaintext", "math", "noscript",
]  # fmt: skip
_TAGS = [
    *[f"<{name}>" for name in _NAMES],
    *[f"</{name}>" for name in _NAMES] * 2,
    "<a href=x/>", "<a href='&amp;'>", '<img alt="a > b">', "<br/>", "<B>", "</B >", "</b x=y>", "<span/>",
    "<p translate=no>", "<span translate='no'>", '<i class="x notranslate">', "<!-- c -->", "<!-->",
    "<!--->", "<!-- a --!>", "<!-- ", "<!x>", "<?pi?>", "</>", "</ x>", "</3>", "<![CDATA[ x ]]>",
    "<![CDATA[", "<![if x]>", "<!>", "<!DOCTYPE html>", "<a b", "<a b='", "<x:y>", "</x:y>", "<x\u00e9>", "<",
    "</", "<!", "<a =b=c>", "<b ''>", "<a\r\nb>", "<svg/>", "<title/>", "<?",
]  # fmt: skip
BROKEN_HTML = _few_or_many(st.sampled_from(_TAGS) | st.sampled_from(_HTML_TEXTS)).map("".join)
"""Tags as they come."""

_END = "</>"
_BLOCKS = ["<p>", "<h1>", "<div>", "<pre>", "<li>"]


def _well_nested(parts: list[str], opening: Collection[str]) -> str:
    """Parts in order, with end tags where `_END` or a block's start tag has elements end, and at the end."""
    written: list[str] = []
    ends: list[str] = []
    for part in parts:
        num_left = 0 if part in _BLOCKS else len(ends) - 1 if part == _END else len(ends)
        while len(ends) > max(0, num_left):
            written.append(ends.pop())
        if part in opening:
            ends.append(f"</{part[1:].rstrip('>').split()[0]}>")
        if part != _END:
            written.append(part)
    return "".join([*written, *reversed(ends)])


_HTML_OPENING = [*_BLOCKS, "<b>", "<i>", "<a>", "<span>", "<em>", "<u>"]
_HTML_LEAVES = [
    "<br>", "<img src='x'>", "<!-- no -->", "<b></b>", "<code>x &lt; <i>y</i></code>", "<wbr>",
    "&amp;", "&lt;", "&nbsp;", "&#8211;",
]  # fmt: skip
GOOD_HTML = _few_or_many(
    st.sampled_from(_HTML_OPENING + _HTML_LEAVES + [_END] * 8) | st.sampled_from(_TEXTS)
).map(lambda parts: _well_nested(parts, _HTML_OPENING))
"""Well-nested, with text in blocks."""

HTML = BROKEN_HTML | GOOD_HTML

_XML_NAMES = ["b", "i", "x", "seg", "p", "note", "n:s", "é"]
_XML_ATTRIBUTES = ["", "", ' id="1"', " a='>'", ' xml:space="preserve"', ' t="&lt;&#10;"']
_XML_OPENING = [f"<{name}{attributes}>" for name in _XML_NAMES for attributes in _XML_ATTRIBUTES]
_SECTION = re.compile(r"<!\[CDATA\[.*?\]\]>")
_XML_LEAVES = [
    "<!-- c & -->", "<?pi x > y?>", "<x/>", "<x ></x >", "<![CDATA[a < b. ]] > c]]>", "<![CDATA[]]>",
    "<![CDATA[]]]>", "&amp;", "&#65;", "&#x42;", "&lt;", "&quot;", ">", "]]", "]", "\r\n",
]  # fmt: skip
XML_FRAGMENTS = (
    _few_or_many(
        st.sampled_from(_XML_OPENING) | st.just(_END) | st.sampled_from(_XML_LEAVES) | st.sampled_from(_TEXTS)
    )
    .map(lambda parts: _well_nested(parts, _XML_OPENING))
    .filter(lambda xml: "]]>" not in _SECTION.sub("", xml))
)
XML = XML_FRAGMENTS | st.builds(
    lambda prolog, inner, epilog: f"{prolog}<doc>{inner}</doc>{epilog}",
    st.sampled_from(
        [
            '<?xml version="1.0" encoding="latin-1"?>\n',
            "<!DOCTYPE doc>",
            "\ufeff<!-- c --><?p?><!DOCTYPE doc [<!-- <!DOCTYPE --><!ELEMENT doc ANY>]>\n",
        ]
    ),
    XML_FRAGMENTS,
    st.sampled_from(["", "\n<!-- end -->", "<?p?>\n"]),
)
"""Fragments and documents, well-formed."""

_TAG_SETS = st.sampled_from(
    [frozenset(names) for num in range(3) for names in combinations(["b", "i", "x", "p", "td", "seg"], num)]
)


def options_of(language: MarkupLanguage) -> st.SearchStrategy[MarkupOptions]:
    return st.builds(MarkupOptions, st.just(language), _TAG_SETS, _TAG_SETS, _TAG_SETS, st.booleans())


HTML_OPTIONS = options_of(MarkupLanguage.HTML)
XML_OPTIONS = options_of(MarkupLanguage.XML)
