"""Texts in which stand-ins replace protected spans, and translations in which the spans are restored."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dragoman.scripts import is_word_character
from dragoman.text.segmentation import has_letters
from dragoman.types import Alternative, Link, SegmentTranslation, Span, Translation
from service.protection.patterns import ProtectedSpan, SpanForm

_STAND_IN = re.compile(r"%(?P<number>\d+)\$s?|(?<!\d)%[sd]")
_LINE = re.compile(r"[^\n]+")


class _Replacement(NamedTuple):
    """Positions of a stand-in and of the span that it stands for, each in its text."""

    shown: Span
    own: Span


@dataclass(frozen=True, slots=True, eq=False)
class ShownText:
    """A text as the model sees it."""

    own: str
    """The text itself."""
    text: str
    """The text with stand-ins."""
    spans: tuple[ProtectedSpan, ...]
    stand_ins: tuple[str, ...]
    """One for each span: `%1$s` and so on, `%s` or `%d`, or a literal span itself."""
    is_ambiguous: bool
    """Whether the text itself has what looks like a stand-in, so that spans could not be restored."""
    _replacements: tuple[_Replacement, ...]

    def missing(self, translated: str) -> frozenset[int]:
        """Return the indexes of spans that a translation does not have as often as, or in the order of, the
        text.
        """
        matches = list(_STAND_IN.finditer(translated))
        found = [one[0] for one in matches]
        numbers = Counter(stand_in for stand_in in found if "$" in stand_in)
        ordered = [stand_in for i, stand_in in enumerate(self.stand_ins) if self._keeps_order(i)]
        is_in_order = [one for one in found if "$" not in one] == ordered
        if not numbers.keys() <= set(self.stand_ins) or not (is_in_order or ordered):
            return frozenset(range(len(self.spans)))  # there are stand-ins that the text does not have
        within_words = {one[0] for one in matches if _is_within_word(translated, Span(*one.span()))}
        return frozenset(
            i
            for i, stand_in in enumerate(self.stand_ins)
            if not (is_in_order if self._keeps_order(i) else self._is_kept(stand_in, numbers, translated))
            or (stand_in in within_words and not self.spans[i].is_syntax)
        )

    def restore(self, translation: Translation) -> Translation | None:
        """Return a translation of the shown text as one of the text itself; None if spans are missing.

        Alternatives in which spans are missing are left out.
        """
        if not self.spans:
            return translation
        if self.missing(translation.text):
            return None
        text, replacements = self._restore_text(translation.text)
        sources, targets = _PositionMap(self._replacements), _PositionMap(replacements)
        alternatives = tuple(
            Alternative(self._restore_text(other.text)[0], other.score)
            for other in translation.alternatives
            if not self.missing(other.text)
        )
        segments = tuple(
            _map_segment(segment, self.own, text, sources, targets) for segment in translation.segments
        )
        return replace(translation, text=text, segments=segments, alternatives=alternatives)

    def _keeps_order(self, i: int) -> bool:
        return self.stand_ins[i] in {"%s", "%d"}

    def _is_kept(self, stand_in: str, numbers: Counter[str], translated: str) -> bool:
        if _STAND_IN.fullmatch(stand_in):
            return numbers[stand_in] == 1
        return translated.count(stand_in) == self.text.count(stand_in)

    def _restore_text(self, translated: str) -> tuple[str, list[_Replacement]]:
        """Return a translation that has all spans with these in place."""
        by_stand_in = dict(zip(self.stand_ins, self.spans, strict=True))
        ordered = (span for i, span in enumerate(self.spans) if self._keeps_order(i))
        found = (
            (Span(*one.span()), by_stand_in[one[0]] if one["number"] else next(ordered))
            for one in _STAND_IN.finditer(translated)
        )
        return _substitute(translated, [(span, self.own[own.start : own.end]) for span, own in found])


def show(text: str, spans: Sequence[ProtectedSpan]) -> ShownText:
    """Replace the protected spans of a text with stand-ins.

    Spans on a line without other letters get stand-ins without letters: the engine copies such lines.
    """
    copied = _on_copied_lines(text, spans)
    stand_ins = tuple(_stand_in(text, span, i, is_copied=i in copied) for i, span in enumerate(spans))
    shown, replacements = _substitute(
        text, [(Span(span.start, span.end), one) for span, one in zip(spans, stand_ins, strict=True)]
    )
    is_ambiguous = any(map(_STAND_IN.search, _between(text, spans)))
    swapped = tuple(_Replacement(own, shown) for shown, own in replacements)
    return ShownText(text, shown, tuple(spans), stand_ins, is_ambiguous, swapped)


def _substitute(text: str, found: Sequence[tuple[Span, str]]) -> tuple[str, list[_Replacement]]:
    """Replace parts of a text; return positions in the text, and in the result, of each."""
    pieces: list[str] = []
    replacements: list[_Replacement] = []
    at = length = 0
    for span, new in found:
        pieces += (text[at : span.start], new)
        start = length + span.start - at
        length, at = start + len(new), span.end
        replacements.append(_Replacement(span, Span(start, length)))
    pieces.append(text[at:])
    return "".join(pieces), replacements


def _stand_in(text: str, span: ProtectedSpan, i: int, *, is_copied: bool) -> str:
    if is_copied:
        return f"%{i + 1}$"
    if span.form in {SpanForm.LITERAL, SpanForm.TAG}:
        return text[span.start : span.end]
    return {SpanForm.NUMBERED: f"%{i + 1}$s", SpanForm.STRING: "%s", SpanForm.NUMBER: "%d"}[span.form]


def _between(text: str, spans: Sequence[ProtectedSpan]) -> Iterator[str]:
    at = 0
    for span in spans:
        yield text[at : span.start]
        at = span.end
    yield text[at:]


def _on_copied_lines(text: str, spans: Sequence[ProtectedSpan]) -> set[int]:
    """Return the indexes of spans on lines without letters outside of spans."""
    copied: set[int] = set()
    first = 0
    for line in _LINE.finditer(text):
        last = first
        while last < len(spans) and spans[last].start < line.end():
            last += 1
        if last > first:
            start = line.start()
            inner = [
                span._replace(start=span.start - start, end=span.end - start) for span in spans[first:last]
            ]
            if not any(map(has_letters, _between(line[0], inner))):
                copied.update(range(first, last))
        first = last
    return copied


def _is_within_word(text: str, span: Span) -> bool:
    """Return whether a part of a text is part of a word; one letter after it may be the ending of a name."""
    before, after = text[max(0, span.start - 1) : span.start], text[span.end : span.end + 2]
    return any(map(is_word_character, before)) or (len(after) > 1 and all(map(is_word_character, after)))


class _PositionMap:
    """Maps positions in a text with stand-ins to positions in the text with the spans."""

    def __init__(self, replacements: Sequence[_Replacement]) -> None:
        self._replacements = replacements
        self._starts = [replacement.shown.start for replacement in replacements]

    def span(self, span: Span) -> Span:
        """Return a part of the text; it has each span of whose stand-in it has a part."""
        return Span(self._position(span.start, is_end=False), self._position(span.end, is_end=True))

    def has_several(self, span: Span) -> bool:
        """Return whether a part of the text has parts of several stand-ins."""
        first = bisect_right(self._replacements, span.start, key=lambda replacement: replacement.shown.end)
        return bisect_left(self._starts, span.end) - first > 1

    def _position(self, at: int, *, is_end: bool) -> int:
        i = bisect_right(self._starts, at) - 1
        if i < 0:
            return at
        shown, own = self._replacements[i]
        if at >= shown.end:
            return own.end + at - shown.end
        return own.end if is_end and at > shown.start else own.start


def _map_segment(
    segment: SegmentTranslation, own: str, text: str, sources: _PositionMap, targets: _PositionMap
) -> SegmentTranslation:
    source_span, span = sources.span(segment.source_span), targets.span(segment.span)
    links = segment.links
    if links is not None:
        # A link of several spans would be cut at the marks between them, and so within a span of the target.
        links = tuple(
            Link(sources.span(link.source), targets.span(link.target))
            for link in links
            if not sources.has_several(link.source)
        )
    return replace(
        segment,
        source=own[source_span.start : source_span.end],
        text=text[span.start : span.end],
        source_span=source_span,
        span=span,
        links=links,
    )
