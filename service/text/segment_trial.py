"""Divides the translation of a call into segments that are right, and segments to try again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.text.segmentation import has_letters
from dragoman.types import SegmentTranslation, Span, Translation
from service.text.context import TextContext
from service.text.joining import Piece, translated_piece, unchanged_piece
from service.text.judging import match_stand_ins
from service.text.marked_text import Object, Shown, fill
from service.text.no_break_spaces import has_no_break_space
from service.text.number_changes import NumberChanges, NumberForms, number_forms
from service.text.numbers import Number, mask
from service.text.objects import with_numbers, with_pairs
from service.text.outcome import Check, CheckFailure
from service.text.patterns import find_spans
from service.text.placement import moving_in
from service.text.quotes import has_lost_quotes, quote_objects, with_quotes
from service.text.showing import MarkedPart, ShownText, StandIn, show

MAX_TRIALS = 3
_MAX_NAMED = 80
"""Characters of what failed that a problem names."""


def segments_of(shown: ShownText, translation: Translation) -> Sequence[SegmentTranslation] | None:
    """Return the segments of a call; None if one has a break in it.

    A further call is one segment, and so is a translation whose segments are out of order.
    """
    if shown.trial > 1 or not _are_in_order(translation, shown.text):
        segments: Sequence[SegmentTranslation] = [_as_one(shown.text, translation)]
    else:
        segments = translation.segments
    breaks = (one.shown for one in shown.stand_ins if one.text == "\n")
    spans = iter([segment.source_span for segment in segments])
    span = next(spans, None)
    for each in breaks:
        while span is not None and span.end <= each.start:
            span = next(spans, None)
        if span is not None and span.start < each.end:
            return None
    return segments


def _are_in_order(translation: Translation, source: str) -> bool:
    """Return whether the segments are in order, and what is between them is the same in both texts."""
    source_at = at = 0
    for segment in translation.segments:
        extent, span = segment.source_span, segment.span
        if not (source_at <= extent.start < extent.end <= len(source) and at <= span.start <= span.end):
            return False
        if source[source_at : extent.start] != translation.text[at : span.start]:
            return False
        source_at, at = extent.end, span.end
    return source[source_at:] == translation.text[at:]


def _as_one(source: str, translation: Translation) -> SegmentTranslation:
    """Return a translation as a single segment."""
    segments = translation.segments
    links = [link for segment in segments for link in segment.links or ()]
    tokens = [segment.tokens for segment in segments if segment.tokens is not None]
    return SegmentTranslation(
        source,
        translation.text,
        translation.score,
        translation.finish_reason,
        sum(segment.num_source_tokens for segment in segments),
        sum(segment.num_target_tokens for segment in segments),
        Span(0, len(source)),
        Span(0, len(translation.text)),
        None if segments and all(segment.links is None for segment in segments) else tuple(links),
        tuple(token for found in tokens for token in found) if tokens else None,
    )


class SegmentCutter:
    """Divides a part of a text in the order of its segments. What is between these does not change."""

    def __init__(self, shown: ShownText, context: TextContext) -> None:
        """Take a trial whose segments follow."""
        self.is_right = True
        """Whether all segments so far were right."""
        self._shown = shown
        self._context = context
        self._done_to = shown.part.extent.start
        self._mark = shown.part.marks.start
        self._movable = self._stand_in = 0

    def add(self, translation: SegmentTranslation) -> Iterator[Piece | ShownText]:
        """Yield what is before a segment, and the segment or a trial for it."""
        shown, part = self._shown, self._shown.part
        source = translation.source_span
        if self._shown.trial == 1:
            moving = moving_in(shown.movables, source, self._movable)
        else:
            moving = range(len(shown.movables))
        extent, marks = self._extent_of(source, moving)
        if marks and translation.text == shown.text[source.start : source.end]:
            # The marks of an unchanged segment stay where they are.
            first, last = part.marked.marks[marks.start], part.marked.marks[marks.stop - 1]
            extent = Span(max(self._done_to, min(extent.start, first.at)), max(extent.end, last.at))
        if self._done_to < extent.start or self._mark < marks.start:
            yield unchanged_piece(part, Span(self._done_to, extent.start), range(self._mark, marks.start))
        stand_ins = self._stand_ins_in(source)
        self._done_to, self._mark, self._movable = extent.end, marks.stop, moving.stop
        judge = _Judge(self._shown, self._context, extent, marks)
        done = judge.judge(translation, moving, stand_ins)
        self.is_right = isinstance(done, Piece)
        yield done

    def rest(self) -> Piece:
        """Return what is after the last segment."""
        part = self._shown.part
        return unchanged_piece(part, Span(self._done_to, part.extent.end), range(self._mark, part.marks.stop))

    def _extent_of(self, source: Span, moving: range) -> tuple[Span, range]:
        """Return which part of the text a segment is, and which marks belong to it."""
        shown, part = self._shown, self._shown.part
        if self._shown.trial > 1:
            return part.extent, part.marks
        extent = shown.positions.span(source)
        moved = shown.movables[moving.start : moving.stop]
        objects = [part.marked.objects[one.source_index] for one in moved if one.is_object]
        start = min([max(extent.start, self._done_to), *(one.start for one in objects)])
        end = max([extent.end, *(one.end for one in objects)])
        marks = [one.source_index for one in moved if not one.is_object]
        if marks:
            return Span(start, end), range(marks[0], marks[-1] + 1)
        before = shown.movables[self._movable : moving.start]  # whose marks stay in place
        first = max([self._mark, *(one.source_index + 1 for one in before if not one.is_object)])
        return Span(start, end), range(first, first)

    def _stand_ins_in(self, source: Span) -> list[StandIn]:
        """Return the stand-ins of which a segment has a part."""
        stand_ins = self._shown.stand_ins
        while self._stand_in < len(stand_ins) and stand_ins[self._stand_in].shown.end <= source.start:
            self._stand_in += 1
        last = self._stand_in
        while last < len(stand_ins) and stand_ins[last].shown.start < source.end:
            last += 1
        return list(stand_ins[self._stand_in : last])


@dataclass(frozen=True, slots=True)
class _Judge:
    """Decides whether a segment is right."""

    shown: ShownText
    context: TextContext
    extent: Span
    marks: range

    def judge(
        self, translation: SegmentTranslation, moving: range, stand_ins: list[StandIn]
    ) -> Piece | ShownText:
        """Return the piece of a segment, or a trial for it."""
        shown, source = self.shown, translation.source_span
        text = translation.text
        if text == shown.text[source.start : source.end]:
            return unchanged_piece(shown.part, self.extent, self.marks, translation)
        match = match_stand_ins(stand_ins, text, Span(0, len(text)))
        cut = {one.extent.start for one in stand_ins if not _is_within(one.shown, source)}
        if match.missing or cut:
            retried = self._retry(match.missing | cut, ())
            if retried is not None:
                return retried
        text = with_quotes(self._visible_words, text)
        if text != translation.text:
            translation = translation._replace(text=text)
        piece = translated_piece(shown, self.extent, moving, match.found, translation)
        return self._checked(piece, has_stand_ins=bool(stand_ins) or shown.trial > 1)

    def _checked(self, piece: Piece, *, has_stand_ins: bool) -> Piece | ShownText:
        if not self.context.shows_objects and not self.context.has_prefix:
            return piece
        if (has_stand_ins or self.context.is_message) and self._has_added(piece):
            retried = self._retry(_starts(replace(self.shown.part, extent=self.extent)), ())
            if retried is not None:
                return retried
        puts = [put[:2] for put in piece.objects]
        if has_lost_quotes(self._visible_words, mask(piece.text, puts)) and (
            retried := self._retry(frozenset(), (), has_quotes=False)
        ):
            return retried
        changes = self._forms.compare(self._words, piece.text, self._objects, puts, self.context.read)
        if not changes:
            return piece
        numbers = changes.missing or self._numbers()
        return self._retry(frozenset(), numbers) or replace(
            piece, failed=(_failure(self._words, piece.text, changes),)
        )

    @property
    def _words(self) -> str:
        return self.shown.part.marked.text[self.extent.start : self.extent.end]

    @property
    def _objects(self) -> list[tuple[int, int]]:
        """Positions of the objects in the words."""
        marked, shift = self.shown.part.marked, self.extent.start
        objects = (marked.objects[i] for i in marked.objects_in(*self.extent))
        return [(one.start - shift, one.end - shift) for one in objects]

    @property
    def _visible_words(self) -> str:
        """The words without what objects have in them, at the same positions."""
        return mask(self._words, self._objects)

    def _retry(
        self, missing: frozenset[int], numbers: Sequence[Number], *, has_quotes: bool = True
    ) -> Piece | ShownText | None:
        """Return the next trial of the segment; None if it would be the same again."""
        shown = self.shown
        if shown.trial == MAX_TRIALS or not self.context.shows_objects:
            return None
        if shown.trial > 1:
            numbers = self._numbers()  # the last call must not change those either that were right
        marked = shown.part.marked
        words, shift = self._words, self.extent.start
        found = (
            Object(shift + one.start, shift + one.end, put=self._forms.put(words, one), is_syntax=False)
            for one in numbers
        )
        numbered = with_numbers(marked, found)
        if not has_quotes:
            numbered = with_pairs(
                numbered, [*quote_objects(self._visible_words, self.extent.start, self.context.target)]
            )
        part = MarkedPart(numbered, self.extent, self.marks, shown.part.language)
        everything = _starts(part)
        before = shown.hidden & everything
        hidden = everything if shown.trial > 1 or missing == everything else before | missing
        if hidden == before and len(part.marked.objects) == len(marked.objects):
            return None
        following = show(part, hidden, shown.trial + 1)
        return following if has_letters(following.text) else unchanged_piece(part, self.extent, self.marks)

    def _has_added(self, piece: Piece) -> bool:
        """Return whether the words of a translation have syntax that those of the source have not."""
        target = masked(piece.text, [put[:2] for put in piece.objects])
        return bool(_syntax(target) - _syntax(masked(self._words, self._objects)))

    @property
    def _forms(self) -> NumberForms:
        return number_forms(self.context.source, self.context.target)

    def _numbers(self) -> tuple[Number, ...]:
        return self._forms.find(self._words, self.context.read)


def is_right(shown: ShownText, translation: Translation, context: TextContext) -> bool:
    """Return whether the translation of a text without marks and objects can be used as it is."""
    if not _are_in_order(translation, shown.text) or has_no_break_space(shown.text):
        return False
    if not context.shows_objects and not context.has_prefix:
        return True
    forms = number_forms(context.source, context.target)
    changed = ((each.source, each.text) for each in translation.segments if each.source != each.text)
    return not any(has_lost_quotes(*one) or forms.compare(*one, read=context.read) for one in changed)


def _failure(source: str, target: str, changes: NumberChanges) -> CheckFailure:
    missing, added = (
        ", ".join(text[one.start : one.end] for one in numbers)[:_MAX_NAMED]
        for text, numbers in ((source, changes.missing), (target, changes.added))
    )
    problems = [f"{missing} is missing"] * bool(missing) + [f"{added} is not in the source"] * bool(added)
    return CheckFailure(Check.NUMBERS, "; ".join(problems))


def _starts(part: MarkedPart) -> frozenset[int]:
    """Return where the objects of a part begin."""
    objects = part.marked.objects
    within = (objects[i] for i in part.marked.objects_in(*part.extent))
    return frozenset(each.start for each in within if each.shown is not Shown.BREAK)


def _syntax(text: str) -> Counter[str]:
    return Counter(text[span.start : span.end] for span in find_spans(text) if span.is_syntax)


def masked(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text with line feeds in place of some parts, which are in order."""
    return fill(text, ((start, end, "\n") for start, end in spans))


def _is_within(span: Span, whole: Span) -> bool:
    return whole.start <= span.start and span.end <= whole.end
