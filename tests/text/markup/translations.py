"""Translations made by hand, and at random."""

import re
from collections.abc import Iterable
from random import Random

from hypothesis import strategies as st

from dragoman.types import FinishReason, Link, SegmentTranslation, Span, Translation

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
