"""Divides the translation of a call into segments that are right, and segments to try again."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from dragoman.text.segmentation import has_letters
from dragoman.types import SegmentTranslation, Span, Translation
from service.text.context import TextContext
from service.text.joining import Piece, translated_piece, unchanged_piece
from service.text.judging import match_stand_ins
from service.text.marked_text import Object, Shown
from service.text.no_break_spaces import has_no_break_space
from service.text.number_changes import NumberChanges, number_forms
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
        start, end = max(extent.start, self._done_to), extent.end
        first = last = None
        for i in moving:
            movable = shown.movables[i]
            if movable.is_object:
                found = part.marked.objects[movable.source_index]
                start, end = min(start, found.start), max(end, found.end)
            else:
                first = movable.source_index if first is None else first
                last = movable.source_index
        if first is None or last is None:
            # Marks before the segment stay in place.
            first = self._mark
            for movable in shown.movables[self._movable : moving.start]:
                first = first if movable.is_object else movable.source_index + 1
            return Span(start, end), range(first, first)
        return Span(start, end), range(first, last + 1)

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
            translation = replace(translation, text=text)
        piece = translated_piece(shown, self.extent, moving, match.found, translation)
        return self._checked(piece, has_stand_ins=bool(stand_ins) or shown.trial > 1)

    def _checked(self, piece: Piece, *, has_stand_ins: bool) -> Piece | ShownText:
        if not self.context.shows_objects and not self.context.has_prefix:
            return piece
        if (has_stand_ins or self.context.is_message) and self._has_added(piece):
            retried = self._retry(self._starts(), ())
            if retried is not None:
                return retried
        if has_lost_quotes(self._visible_words, mask(piece.text, (put[:2] for put in piece.objects))) and (
            retried := self._retry(frozenset(), (), has_quotes=False)
        ):
            return retried
        changes = self._number_changes(piece)
        if not changes:
            return piece
        numbers = changes.missing or self._numbers()
        return self._retry(frozenset(), numbers) or replace(piece, failed=(_failure(piece, self, changes),))

    @property
    def _words(self) -> str:
        return self.shown.part.marked.text[self.extent.start : self.extent.end]

    @property
    def _visible_words(self) -> str:
        """The words without what objects have in them, at the same positions."""
        marked, shift = self.shown.part.marked, self.extent.start
        objects = (marked.objects[i] for i in marked.objects_in(*self.extent))
        return mask(self._words, ((one.start - shift, one.end - shift) for one in objects))

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
        words = self._words
        forms = number_forms(self.context.source, self.context.target)
        found = [
            Object(
                self.extent.start + number.start,
                self.extent.start + number.end,
                put=forms.put(words, number),
                is_syntax=False,
            )
            for number in numbers
        ]
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

    def _starts(self) -> frozenset[int]:
        return _starts(replace(self.shown.part, extent=self.extent))

    def _has_added(self, piece: Piece) -> bool:
        """Return whether the words of a translation have syntax that those of the source have not."""
        marked = self.shown.part.marked
        objects = [marked.objects[i] for i in marked.objects_in(*self.extent)]
        shift = self.extent.start
        source = masked(
            marked.text[self.extent.start : self.extent.end],
            [(one.start - shift, one.end - shift) for one in objects],
        )
        target = masked(piece.text, [put[:2] for put in piece.objects])
        return bool(_syntax(target) - _syntax(source))

    def _number_changes(self, piece: Piece) -> NumberChanges:
        marked, shift = self.shown.part.marked, self.extent.start
        objects = [marked.objects[i] for i in marked.objects_in(*self.extent)]
        return number_forms(self.context.source, self.context.target).compare(
            self._words,
            piece.text,
            [(one.start - shift, one.end - shift) for one in objects],
            [put[:2] for put in piece.objects],
            self.context.read,
        )

    def _numbers(self) -> tuple[Number, ...]:
        return number_forms(self.context.source, self.context.target).find(self._words, self.context.read)


def is_right(shown: ShownText, translation: Translation, context: TextContext) -> bool:
    """Return whether the translation of a text without marks and objects can be used as it is."""
    if not _are_in_order(translation, shown.text) or has_no_break_space(shown.text):
        return False
    if not context.shows_objects and not context.has_prefix:
        return True
    if any(
        has_lost_quotes(each.source, each.text) for each in translation.segments if each.source != each.text
    ):
        return False
    forms = number_forms(context.source, context.target)
    return not any(
        forms.compare(segment.source, segment.text, read=context.read)
        for segment in translation.segments
        if segment.source != segment.text
    )


def _failure(piece: Piece, judge: _Judge, changes: NumberChanges) -> CheckFailure:
    source = judge.shown.part.marked.text[judge.extent.start : judge.extent.end]
    missing = ", ".join(source[one.start : one.end] for one in changes.missing)[:_MAX_NAMED]
    added = ", ".join(piece.text[one.start : one.end] for one in changes.added)[:_MAX_NAMED]
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
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += (text[at:start], "\n")
        at = end
    return "".join((*pieces, text[at:]))


def _is_within(span: Span, whole: Span) -> bool:
    return whole.start <= span.start and span.end <= whole.end
