"""Divides a block and its translation, in parallel, into segments and the gaps between them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dragoman.types import Link, SegmentTranslation, Span, Translation
from service.markup.blocks import Mark
from service.markup.tokens import TokenKind


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of a block's text, with its translation."""

    source: Span
    """Part of the source, never empty."""
    target: Span
    links: tuple[Link, ...]
    """Links within the two spans."""
    is_unchanged: bool
    """Whether the target is the same text as the source."""


def cut(text: str, translation: Translation) -> list[Stretch]:
    """Return stretches that make up both texts; adjacent unchanged ones are one.

    If segments are out of order or outside the texts, everything is one stretch.
    """
    whole = Span(0, len(text)), Span(0, len(translation.text))
    segments = translation.segments if _are_in_order(translation.segments, whole) else ()
    stretches: list[Stretch] = []
    for source, target, links in _spans(segments, whole):
        is_unchanged = text[source.start : source.end] == translation.text[target.start : target.end]
        stretch = Stretch(source, target, _links_within(links, source, target), is_unchanged)
        last = stretches[-1] if stretches else None
        if last is not None and (
            _are_unchanged(last, stretch)
            or any(source.start == source.end for source in (last.source, stretch.source))
        ):
            stretches[-1] = _join(last, stretch)
        else:
            stretches.append(stretch)
    return stretches


def _are_in_order(segments: Sequence[SegmentTranslation], whole: tuple[Span, Span]) -> bool:
    for side, spans in zip(
        whole,
        ([segment.source_span for segment in segments], [segment.span for segment in segments]),
        strict=True,
    ):
        edges = [side.start, *(edge for span in spans for edge in span), side.end]
        if any(before > after for before, after in pairwise(edges)):
            return False
    return True


def _spans(
    segments: Sequence[SegmentTranslation], whole: tuple[Span, Span]
) -> Iterator[tuple[Span, Span, tuple[Link, ...]]]:
    """Yield segments and gaps, except those that are empty on both sides."""
    source_at = target_at = 0
    for segment in segments:
        source, target = segment.source_span, segment.span
        gap = Span(source_at, source.start), Span(target_at, target.start)
        for spans in ((*gap, ()), (source, target, segment.links or ())):
            if spans[0].start < spans[0].end or spans[1].start < spans[1].end:
                yield spans
        source_at, target_at = source.end, target.end
    if source_at < whole[0].end or target_at < whole[1].end:
        yield Span(source_at, whole[0].end), Span(target_at, whole[1].end), ()


def _links_within(links: Sequence[Link], source: Span, target: Span) -> tuple[Link, ...]:
    return tuple(link for link in links if _is_in(link.source, source) and _is_in(link.target, target))


def _is_in(span: Span, whole: Span) -> bool:
    return whole.start <= span.start < span.end <= whole.end


def _are_unchanged(left: Stretch, right: Stretch) -> bool:
    return left.is_unchanged and right.is_unchanged


def _join(left: Stretch, right: Stretch) -> Stretch:
    source = Span(left.source.start, right.source.end)
    target = Span(left.target.start, right.target.end)
    return Stretch(source, target, left.links + right.links, _are_unchanged(left, right))


@dataclass(frozen=True, slots=True)
class StretchMarks:
    """A stretch with the block's marks that move in it; the marks before it stay in place."""

    stretch: Stretch
    still: range
    """Marks between the previous stretch and this one."""
    moving: range


def assign_marks(marks: Sequence[Mark], stretches: Sequence[Stretch]) -> tuple[list[StretchMarks], range]:
    """Assign marks to stretches, by position; the second value is the range of marks after the last stretch.

    Of the marks between two stretches, only a tag moves whose other half is inside a stretch, with the marks
    between the tag and that stretch.
    """
    placed: list[StretchMarks] = []
    first = 0
    for stretch in stretches:
        start = first
        while first < len(marks) and marks[first].at == stretch.source.start:
            if _opens_in(marks, first, stretch):
                break
            first += 1
        still = range(start, first)
        start = first
        while first < len(marks) and marks[first].at < stretch.source.end:
            first += 1
        for i in range(first, _end_of_position(marks, first, stretch.source.end)):
            if _closes_in(marks, i, stretch):
                first = i + 1
        placed.append(StretchMarks(stretch, still, range(start, first)))
    return placed, range(first, len(marks))


def _end_of_position(marks: Sequence[Mark], first: int, at: int) -> int:
    while first < len(marks) and marks[first].at == at:
        first += 1
    return first


def _opens_in(marks: Sequence[Mark], i: int, stretch: Stretch) -> bool:
    return marks[i].kind is TokenKind.OPEN and _is_inside(marks, marks[i].partner, stretch)


def _closes_in(marks: Sequence[Mark], i: int, stretch: Stretch) -> bool:
    return marks[i].kind is TokenKind.CLOSE and _is_inside(marks, marks[i].partner, stretch)


def _is_inside(marks: Sequence[Mark], i: int | None, stretch: Stretch) -> bool:
    if i is None or not 0 <= i < len(marks):
        return False
    return stretch.source.start < marks[i].at < stretch.source.end
