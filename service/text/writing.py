"""Writes a text as markup, with its translation in it."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dragoman.types import SegmentTranslation, Span
from service.text.escaping import escape
from service.text.marked_text import MarkedText
from service.text.no_break_spaces import NO_BREAK_SPACE
from service.text.options import MarkupLanguage
from service.text.outcome import TextOutcome
from service.text.reading import ReadText

_IN_REFERENCE = re.compile(r"[\w#]")
_MAX_REFERENCE_CHARS = 40
_EXPRESSION = re.compile(r"\{\{[^{}\n]{1,200}+\}\}|\{[%#][^%#\n]{1,200}+[%#]\}")


class _Stretch(NamedTuple):
    """Part of a text and its translation."""

    source: Span
    target: Span
    is_unchanged: bool


def write_markup(read: ReadText, outcome: TextOutcome, language: MarkupLanguage) -> str:
    """Return the markup of a text around its translation; what that left unchanged stays as it was."""
    segments = () if outcome.is_source or outcome.translation is None else outcome.translation.segments
    space = read.marked.text.find(NO_BREAK_SPACE)
    no_break_space = read.characters[space] if space >= 0 else NO_BREAK_SPACE
    writer = _Writer(read, outcome.marked, language, no_break_space)
    pieces = [item.raw for item in read.before]
    stretches = list(_stretches(read.marked.text, outcome.marked.text, segments))
    for stretch in stretches:
        pieces += writer.copied(stretch) if stretch.is_unchanged else writer.changed(stretch)
    pieces += writer.marks_until(len(outcome.marked.text), stretches[-1] if stretches else None)
    return "".join([*pieces, *(item.raw for item in read.after)])


def _stretches(source: str, target: str, segments: Sequence[SegmentTranslation]) -> Iterator[_Stretch]:
    """Yield stretches that make up both texts: segments, and what is between these, which does not change."""
    if not segments and source != target:  # an ICU message: its sentences are in no order of the source
        yield _Stretch(Span(0, len(source)), Span(0, len(target)), is_unchanged=False)
        return
    source_at = target_at = 0
    for segment in segments:
        if segment.text == segment.source:
            continue
        gap = Span(source_at, segment.source_span.start), Span(target_at, segment.span.start)
        if gap[0].start < gap[0].end:
            yield _Stretch(*gap, is_unchanged=True)
        yield _Stretch(segment.source_span, segment.span, is_unchanged=False)
        source_at, target_at = segment.source_span.end, segment.span.end
    if source_at < len(source):
        yield _Stretch(Span(source_at, len(source)), Span(target_at, len(target)), is_unchanged=True)


@dataclass(slots=True, eq=False)
class _Writer:
    read: ReadText
    translated: MarkedText
    language: MarkupLanguage
    no_break_space: str
    """Notation of one in the source: `&nbsp;`."""
    next_mark: int = 0
    next_object: int = 0

    def copied(self, stretch: _Stretch) -> Iterator[str]:
        """Yield an unchanged stretch."""
        source, shift = stretch.source, stretch.target.start - stretch.source.start
        yield from self.marks_until(stretch.target.start, stretch)
        at = self._rest_of_reference(source)
        yield escape(self.read.marked.text[source.start : at], self.language)
        while self._mark_at() < stretch.target.end:
            mark_at = max(at, self._mark_at() - shift)
            yield _raw(self.read, Span(at, mark_at))
            at = mark_at
            yield from self.marks_until(at + shift, stretch)
        end = source.end
        if end < len(self.read.marked.text):
            end = self._unsafe_start(Span(at, end))  # other text may follow than before
        yield _raw(self.read, Span(at, end))
        yield escape(self.read.marked.text[end : source.end], self.language)

    def changed(self, stretch: _Stretch) -> Iterator[str]:
        """Yield the translation of a changed stretch."""
        text, at = self.translated.text, stretch.target.start
        yield from self.marks_until(at, stretch)
        while at < stretch.target.end:
            end = min(self._mark_at(), stretch.target.end)
            start, after, raw = self._object_from(at)
            if start < end:
                yield from (self._escape(text[at:start]), raw)
                at = after
            else:
                yield self._escape(text[at:end])
                at = end
            if at < stretch.target.end:
                yield from self.marks_until(at, stretch)

    def _escape(self, text: str) -> str:
        """Escape words, but no expression of a template that the source wrote otherwise."""
        pieces, at = list[str](), 0
        for found in _EXPRESSION.finditer(text):
            start = self.read.marked.text.find(found[0])
            if start >= 0:
                raw = _raw(self.read, Span(start, start + len(found[0])))
                pieces += (escape(text[at : found.start()], self.language), raw)
                at = found.end()
        pieces.append(escape(text[at:], self.language))
        return "".join(pieces).replace(NO_BREAK_SPACE, self.no_break_space)

    def marks_until(self, at: int, stretch: _Stretch | None) -> Iterator[str]:
        """Yield the remaining marks up to a position of the translation, with their white space."""
        while self._mark_at() <= at:
            mark = self.translated.marks[self.next_mark]
            self.next_mark += 1
            yield self.read.items[mark.number].raw
            blank = self.read.blanks[mark.number]
            if blank and (stretch is None or stretch.is_unchanged or self._has_space(mark.at)):
                yield blank

    def _mark_at(self) -> int:
        marks = self.translated.marks
        return marks[self.next_mark].at if self.next_mark < len(marks) else len(self.translated.text) + 1

    def _object_from(self, at: int) -> tuple[int, int, str]:
        """Return start, end and source form of the next object of markup; the text's end without one."""
        objects = self.translated.objects
        while self.next_object < len(objects):
            each = objects[self.next_object]
            if each.number is not None and each.start >= at:
                return each.start, each.end, self.read.items[each.number].raw
            self.next_object += 1
        return len(self.translated.text), len(self.translated.text), ""

    def _has_space(self, at: int) -> bool:
        """Return whether white space is next to a position of the translation."""
        beside = self.translated.text[max(0, at - 1) : at + 1]
        return beside.strip() != beside

    def _rest_of_reference(self, span: Span) -> int:
        """Return the position after the second character of a two-character reference that begins a span."""
        at = span.start
        while at < span.end and self._is_second_of_reference(at):
            at += 1
        return at

    def _is_second_of_reference(self, at: int) -> bool:
        """Return whether a character is written together with the one before it."""
        return self.read.characters[at] == "" and not self.read.marked.text[at].isspace()

    def _unsafe_start(self, span: Span) -> int:
        """Return where the last characters begin that may change their meaning before other text.

        These are a `<` or `&` that is not markup, a reference without its semicolon, and `]`, as in `]]>`.
        """
        raws, (start, end) = self.read.characters, span
        at = self._last_reference_start(span)
        while start < at < end and raws[at - 1][-1:] == "<":  # its character would make the sign a tag
            at -= 1
        return at

    def _last_reference_start(self, span: Span) -> int:
        """Return where a last `<` or `]`, or a last reference without its semicolon, begins."""
        raws, (start, end) = self.read.characters, span
        if start < end and self._is_second_of_reference(end):
            return end - 1
        if start < end and raws[end - 1][-1:] in ("<", "]"):
            return end - 1
        for at in range(end - 1, max(start, end - _MAX_REFERENCE_CHARS) - 1, -1):
            if raws[at][:1] == "<" and len(raws[at]) > 1:  # an object of markup
                return end
            if "&" in raws[at]:
                return end if raws[at].endswith(";") else at
            if not _IN_REFERENCE.fullmatch(raws[at]):
                return end
        return end


def _raw(read: ReadText, span: Span) -> str:
    """Return the source form of characters; CDATA sections with a missing part are written as plain text."""
    written: list[str] = []
    at = span.start
    first = bisect_left(read.sections, span.start, key=lambda section: section.start)
    for i in range(first, len(read.sections)):
        section = read.sections[i]
        if section.end > span.end:
            break
        written += read.characters[at : section.start]
        written.append(section.raw)
        at = section.end
    written += read.characters[at : span.end]
    return "".join(written)
