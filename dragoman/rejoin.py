"""Segments' hypotheses to whole translations."""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.decoding.options import SearchOptions
from dragoman.decoding.scoring import text_score
from dragoman.text.segment import Document
from dragoman.types import Alternative, FinishReason, Hypothesis, SegmentTranslation, Translation


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment and what the search found for it; nothing where it is copied."""

    source: str
    num_source_tokens: int
    hypotheses: tuple[Hypothesis, ...]
    targets: tuple[str, ...]
    """The hypotheses as text."""

    def target(self, rank: int) -> str:
        """Text of the n-th best hypothesis, or of the last one there is."""
        return self.targets[min(rank, len(self.targets) - 1)] if self.targets else self.source

    def hypothesis(self, rank: int) -> Hypothesis:
        return self.hypotheses[min(rank, len(self.hypotheses) - 1)]


def rejoin(document: Document, pieces: Sequence[Piece], options: SearchOptions) -> Translation:
    """Put translated segments back into the gaps they came from."""
    most = max((len(piece.hypotheses) for piece in pieces), default=0)
    alternatives = tuple(
        Alternative(
            text=document.rejoin([piece.target(rank) for piece in pieces]),
            score=_score(pieces, rank, options),
        )
        for rank in range(max(1, most))
    )
    segments = tuple(present_segment(piece, options) for piece in pieces)
    return Translation(
        text=alternatives[0].text,
        score=alternatives[0].score,
        finish_reason=_finish_reason([segment.finish_reason for segment in segments]),
        segments=segments,
        alternatives=alternatives,
    )


def present_segment(piece: Piece, options: SearchOptions) -> SegmentTranslation:
    """A segment with its best hypothesis."""
    best = piece.hypotheses[0] if piece.hypotheses else None
    score = 0.0 if best is None else best.score
    return SegmentTranslation(
        source=piece.source,
        text=piece.target(0),
        score=score if options.return_scores else None,
        finish_reason=FinishReason.COPIED if best is None else best.finish_reason,
        num_source_tokens=piece.num_source_tokens,
        num_target_tokens=0 if best is None else best.num_tokens,
    )


def _score(pieces: Sequence[Piece], rank: int, options: SearchOptions) -> float | None:
    if not options.return_scores:
        return None
    hypotheses = [piece.hypothesis(rank) for piece in pieces if piece.hypotheses]
    return text_score(hypotheses, options.length_penalty) if hypotheses else 0.0


def _finish_reason(reasons: Sequence[FinishReason]) -> FinishReason:
    if FinishReason.LENGTH in reasons:
        return FinishReason.LENGTH
    return FinishReason.STOP if FinishReason.STOP in reasons else FinishReason.COPIED
