"""Markup read, translated and written in one go, with objects hidden: its marks are placed by links alone."""

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import combinations
from random import Random

from hypothesis import strategies as st

from dragoman.types import FinishReason, Link, SegmentTranslation, Span, Translation
from service.text.context import TextContext
from service.text.escaping import escape_html
from service.text.marked_text import OBJECT, Mark, MarkedText, MarkKind, Object, Shown, with_partners
from service.text.options import MarkupLanguage, MarkupOptions, PlaceholderMode
from service.text.outcome import TextOutcome
from service.text.reading import ReadText, read_markup
from service.text.text_plan import TextPlan, plan_text
from service.text.tokens import InlineItem
from service.text.writing import write_markup

HIDDEN = TextContext("de", "en", placeholders=PlaceholderMode.OFF)


def outcome(
    marked: MarkedText, engine: Callable[[str], Translation], context: TextContext = HIDDEN
) -> TextOutcome:
    """What becomes of a text that an engine translates."""
    plan = plan_text(marked, context)
    while plan.calls:
        plan.take(iter([engine(call.text) for call in plan.calls]))
    return plan.outcome


@dataclass(frozen=True)
class Parsed:
    """Markup, read."""

    parts: Sequence[ReadText | InlineItem]
    options: MarkupOptions

    @property
    def blocks(self) -> tuple[str, ...]:
        """What an engine sees of each text if objects are hidden."""
        plans = (TextPlan(part.marked, HIDDEN) for part in self.parts if isinstance(part, ReadText))
        return tuple(plan.calls[0].text for plan in plans)

    def rejoin(self, translations: Sequence[Translation]) -> str:
        """The markup with one translation for each of its texts."""
        remaining = iter(translations)
        return self.translate(lambda _: next(remaining))

    def translate(self, engine: Callable[[str], Translation], context: TextContext = HIDDEN) -> str:
        """The markup with its texts as an engine translates them."""
        return "".join(
            part.raw
            if isinstance(part, InlineItem)
            else write_markup(part, outcome(part.marked, engine, context), self.options.language)
            for part in self.parts
        )


def parse(markup: str, options: MarkupOptions) -> Parsed:
    return Parsed(read_markup(markup, options), options)


_NOTATION = re.compile(r'<g i="(\d+)">|(</g>)|<x i="(\d+)"/>|<\?p (\d+)\?>|<br i="(\d+)"/>')


def noted(marked: MarkedText) -> str:
    """A text with its marks and objects as numbered tags, and escaped if it has some."""
    tags = {MarkKind.OPEN: '<g i="{}">', MarkKind.CLOSE: "</g>", MarkKind.POINT: "<?p {}?>"}
    places = [(mark.at, mark.at, tags[mark.kind].format(mark.number)) for mark in marked.marks]
    for each in marked.objects:
        tag = '<br i="{}"/>' if each.shown is Shown.BREAK else '<x i="{}"/>'
        places.append((each.start, each.end, tag.format(each.number)))
    pieces: list[str] = []
    at = 0
    for start, end, tag in sorted(places, key=lambda place: place[:2]):
        pieces += (escape_html(marked.text[at:start]), tag)
        at = end
    return "".join((*pieces, escape_html(marked.text[at:]))) if places else marked.text


def unnoted(text: str, source: MarkedText) -> MarkedText:
    """The text that `noted` wrote; the CLOSE of a pair has the number that it has in the source."""
    closes = {
        mark.number: source.marks[mark.partner].number
        for mark in source.marks
        if mark.kind is MarkKind.OPEN and mark.partner is not None
    }
    pieces: list[str] = []
    marks: list[Mark] = []
    objects: list[Object] = []
    opened: list[int] = []
    at = length = 0
    for found in _NOTATION.finditer(text):
        pieces.append(unescape(text[at : found.start()]))
        length += len(pieces[-1])
        at = found.end()
        if found[1]:
            opened.append(int(found[1]))
            marks.append(Mark(length, MarkKind.OPEN, opened[-1]))
        elif found[2]:
            marks.append(Mark(length, MarkKind.CLOSE, closes[opened.pop()]))
        elif found[4]:
            marks.append(Mark(length, MarkKind.POINT, int(found[4])))
        else:
            shown = Shown.BREAK if found[5] else Shown.COPY
            objects.append(Object(length, length + 1, shown, int(found[3] or found[5])))
            pieces.append("\n" if found[5] else OBJECT)
            length += 1
    pieces.append(unescape(text[at:]) if at else text[at:])
    return MarkedText("".join(pieces), with_partners(marks), tuple(objects))


WORD = re.compile(r"\w+|[^\w\s]")
_SENTENCE = re.compile(r"\S[^.\n]*[^.\s]\.?|\S")
NASTY_WORDS = [
    "word", "Wort", "\u00a0", " ", " ", "<script>", "]]>", "]", "&", "&amp;", "&lt", "<", ">", "/",
    '"', "'", "<!--", "-->", "</p>", "amp;", "#65;", "\x00", "\r", "\n", "\ufffe", "字", "\U0001f600",
]  # fmt: skip
SEEDS = st.randoms(use_true_random=True)
"""Of translations at random; drawn in one go, as a text's translation has a hundred choices in it."""


def segment(
    source_at: int, source: str, at: int, text: str, links: tuple[Link, ...] | None
) -> SegmentTranslation:
    return SegmentTranslation(
        source=source,
        text=text,
        score=None,
        finish_reason=FinishReason.STOP,
        num_source_tokens=1,
        num_target_tokens=1,
        source_span=Span(source_at, source_at + len(source)),
        span=Span(at, at + len(text)),
        links=links,
    )


def translation(text: str, segments: Iterable[SegmentTranslation]) -> Translation:
    return Translation(text, None, FinishReason.STOP, tuple(segments), ())


def as_it_is(text: str) -> Translation:
    """A sentence a segment, as the engine cuts them; each says what it said."""
    found = list(_SENTENCE.finditer(text))
    return translation(text, [segment(one.start(), one[0], one.start(), one[0], None) for one in found])


def as_one(source: str, target: str, pairs: str = "") -> Translation:
    """One segment, whose words (and signs) are linked by their numbers, such as `0-1 1-0`."""
    return translation(target, [segment(0, source.rstrip(), 0, target, links(source, target, pairs))])


def links(source: str, target: str, pairs: str) -> tuple[Link, ...]:
    sources, targets = ([Span(*word.span()) for word in WORD.finditer(text)] for text in (source, target))
    numbers = (map(int, pair.split("-")) for pair in pairs.split())
    return tuple(Link(sources[i], targets[j]) for i, j in numbers)


def _any_text(random: Random) -> str:
    words = random.choices(NASTY_WORDS, k=random.randrange(8))
    if random.random() < 0.3:
        words.append(chr(random.choice([random.randrange(0xD800), random.randrange(0xE000, 0x110000)])))
    random.shuffle(words)
    return "".join(words)


def _any_span(random: Random, end: int) -> Span:
    """Of a text so long, mostly; now and then none of it."""
    start = random.randint(-1, end + 1)
    num_chars = random.choice([-1, 0, 1, 2, 4, 8, end + 2])
    return Span(start, min(start + num_chars, end + 2))


def _any_links(random: Random, source_end: int, end: int) -> tuple[Link, ...] | None:
    if random.random() < 0.2:
        return None
    num_links = random.randrange(9)
    return tuple(Link(_any_span(random, source_end), _any_span(random, end)) for _ in range(num_links))


def any_translation(random: Random, source: str) -> Translation:
    """Anything that a translator could say: segments in order that stand anywhere, or nonsense."""
    if random.random() < 0.1:
        text = _any_text(random)
        nonsense = [
            segment(random.randint(-1, len(source) + 1), "x", random.randint(-1, len(text) + 1), "x", None)
            for _ in range(random.randrange(4))
        ]
        return translation(text, nonsense)
    edges = sorted(random.randint(0, len(source)) for _ in range(random.choice([0, 2, 2, 2, 4, 6])))
    if random.random() < 0.4:
        edges = [0, len(source)]
    text, segments, source_at = "", [], 0
    for start, end in zip(edges[::2], edges[1::2], strict=False):
        text += source[source_at:start]  # the engine keeps what is between segments
        said = random.choice([source[start:end], _any_text(random)])
        segments.append((start, source[start:end], len(text), said))
        text += said
        source_at = end
    text += source[source_at:]
    return translation(text, [segment(*one, _any_links(random, len(source), len(text))) for one in segments])


def shift(one: SegmentTranslation, by: int) -> SegmentTranslation:
    """The same segment after so many more characters, in the text and its translation."""
    return segment(one.source_span.start + by, one.source, one.span.start + by, one.text, None)


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
