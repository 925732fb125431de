"""Scores of a text that was translated in one call, or in several."""

from collections.abc import Sequence
from dataclasses import replace

from dragoman.pipeline.assembly import joint_finish_reason
from dragoman.types import Alternative, Translation
from service.text.joining import JoinedText


def first_translation(first: Translation, joined: JoinedText, others: Sequence[Alternative]) -> Translation:
    """Return the translation of the only call, with the text as it was put together, and other hypotheses."""
    best = Alternative(joined.marked.text, first.score)
    return replace(first, text=best.text, segments=joined.segments, alternatives=(best, *others))


def joint_translation(taken: Sequence[Translation], joined: JoinedText) -> Translation:
    """Return a translation of several calls.

    The score is the mean of those of the segments, weighted by their target tokens; the confidence is the
    lowest of those of the calls.
    """
    scored = [segment for segment in joined.segments if segment.score is not None]
    num_tokens = sum(segment.num_target_tokens for segment in scored)
    total = sum((segment.score or 0.0) * segment.num_target_tokens for segment in scored)
    has_scores = any(translation.score is not None for translation in taken)
    score = (total / num_tokens if num_tokens else 0.0) if has_scores else None
    confidences = [one.confidence for one in taken if one.confidence is not None]
    return Translation(
        joined.marked.text,
        score,
        joint_finish_reason([segment.finish_reason for segment in joined.segments]),
        joined.segments,
        (Alternative(joined.marked.text, score),),
        min(confidences, default=None),
    )
