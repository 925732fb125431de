"""Segments and word links of a pivot translation, from the source to the target.

The pivot text consists of the translations of the first step's segments, and of the second step's source
segments. Each step splits it differently, so segments that share a part of it are joined.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.pipeline.assembly import joint_finish_reason
from dragoman.types import Link, SegmentTranslation, Span, Token, Translation


@dataclass(slots=True)
class _Group:
    """Segments of both steps that share parts of the pivot text."""

    first: list[SegmentTranslation]
    second: list[SegmentTranslation]


def join_alignments(text: str, first: Translation, second: Translation) -> tuple[SegmentTranslation, ...]:
    """Return the segments of a text with their translations through a pivot.

    Args:
        text: the first step's source.
        first: translation into the pivot.
        second: translation of the first's text, in which line breaks may have become other white space.

    Returns:
        Segments in order. Each has at least one segment of either step, whose scores are added up.
    """
    groups = _attach_empty(_groups(first.segments, second.segments))
    return tuple(_join(text, group, second.text) for group in groups)


def _groups(first: Sequence[SegmentTranslation], second: Sequence[SegmentTranslation]) -> list[_Group]:
    """Group segments whose spans in the pivot overlap, directly or through others."""
    spans = [(segment.span, 0, segment) for segment in first]
    spans += [(segment.source_span, 1, segment) for segment in second]
    spans.sort(key=lambda entry: (entry[0].start, entry[1]))
    groups: list[_Group] = []
    end = -1
    for span, step, segment in spans:
        if not groups or span.start >= end:
            groups.append(_Group([], []))
        end = max(end, span.end)
        (groups[-1].second if step else groups[-1].first).append(segment)
    return groups


def _attach_empty(groups: Sequence[_Group]) -> list[_Group]:
    """Join segments that became empty in one of the steps with their neighbours."""
    whole: list[_Group] = []
    for group in groups:
        if whole and not (group.first and group.second and whole[-1].first and whole[-1].second):
            whole[-1].first += group.first
            whole[-1].second += group.second
        else:
            whole.append(_Group(list(group.first), list(group.second)))
    return [group for group in whole if group.first and group.second]


def _join(text: str, group: _Group, translated: str) -> SegmentTranslation:
    first, second = group.first, group.second
    source_span = Span(first[0].source_span.start, first[-1].source_span.end)
    span = Span(second[0].span.start, second[-1].span.end)
    scores = [_mean_score(first), _mean_score(second)]
    return SegmentTranslation(
        source=text[source_span.start : source_span.end],
        text=translated[span.start : span.end],
        score=None if None in scores else sum(score or 0.0 for score in scores),
        finish_reason=joint_finish_reason([segment.finish_reason for segment in (*first, *second)]),
        num_source_tokens=sum(segment.num_source_tokens for segment in first),
        num_target_tokens=sum(segment.num_target_tokens for segment in second),
        source_span=source_span,
        span=span,
        links=_links(first, second),
        tokens=_tokens(second),
    )


def _mean_score(segments: Sequence[SegmentTranslation]) -> float | None:
    """Return the mean of the segments' scores, weighted by their target tokens."""
    scores = [segment.score for segment in segments if segment.score is not None]
    if len(scores) < len(segments):
        return None
    num_tokens = [max(1, segment.num_target_tokens) for segment in segments]
    return sum(score * count for score, count in zip(scores, num_tokens, strict=True)) / sum(num_tokens)


def _links(
    first: Sequence[SegmentTranslation], second: Sequence[SegmentTranslation]
) -> tuple[Link, ...] | None:
    """Link each target word with the source word of the pivot word that it is linked with."""
    if any(segment.links is None for segment in (*first, *second)):
        return None
    before = [link for segment in first for link in segment.links or ()]
    joined = []
    for segment in second:
        for link in segment.links or ():
            best = max(before, key=lambda other: _overlap(other.target, link.source), default=None)
            if best is not None and _overlap(best.target, link.source) > 0:
                joined.append(Link(best.source, link.target))
    return tuple(joined)


def _overlap(one: Span, other: Span) -> int:
    """Return the number of characters that two spans share; 0 or less if none."""
    return min(one.end, other.end) - max(one.start, other.start)


def _tokens(segments: Sequence[SegmentTranslation]) -> tuple[Token, ...] | None:
    if any(segment.tokens is None for segment in segments):
        return None
    return tuple(token for segment in segments for token in segment.tokens or ())
