"""Assemble whole translations from the hypotheses of their segments."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from dragoman.decoding.options import SearchOptions
from dragoman.decoding.scoring import text_score
from dragoman.text.segmentation import SegmentedText
from dragoman.types import (
    Alternative,
    FinishReason,
    Formality,
    Hypothesis,
    Link,
    SegmentTranslation,
    Span,
    Token,
    Translation,
)

BY_WEIGHT = (FinishReason.LENGTH, FinishReason.UNSUPPORTED, FinishReason.STOP, FinishReason.COPIED)
"""Finish reasons of segments, most important first: the text has the first that occurs."""


class SegmentOutput(NamedTuple):
    """A segment and its hypotheses; none if it is copied unchanged."""

    source: str
    num_source_tokens: int
    hypotheses: Sequence[Hypothesis]
    targets: tuple[str, ...]
    """The hypotheses as text; `source` if there are none."""
    links: tuple[Link, ...] | None = None
    """Links between `source` and the best target, by their offsets; None when not requested."""
    tokens: tuple[Token, ...] | None = None
    """Tokens of the best target; None when not requested."""
    copied_as: FinishReason = FinishReason.COPIED
    """Reason why there are no hypotheses."""
    log_confidence: float | None = None
    """Natural logarithm of the calibrated confidence of the best target; None if the bundle has none."""
    forms: frozenset[Formality] = frozenset()
    """Forms of address in the best target, where another one could be requested."""


class TextAssembly:
    """Puts a text's segments, which come in order, in their positions."""

    def __init__(self, document: SegmentedText, options: SearchOptions) -> None:
        self.segments: list[SegmentTranslation] = []
        self._pieces: list[SegmentOutput] = []
        self._document = document
        self._options = options
        self._source_end = self._end = 0  # of the segment before

    def add(self, piece: SegmentOutput) -> SegmentTranslation:
        """Add the next segment with its best hypothesis."""
        best = piece.hypotheses[0] if piece.hypotheses else None
        score = 0.0 if best is None else best.score
        text, gap_len = piece.targets[0], len(self._document.gaps[len(self.segments)])
        source_start, start = self._source_end + gap_len, self._end + gap_len
        self._source_end, self._end = source_start + len(piece.source), start + len(text)
        segment = SegmentTranslation(
            piece.source,
            text,
            score if self._options.return_scores else None,
            piece.copied_as if best is None else best.finish_reason,
            piece.num_source_tokens,
            0 if best is None else best.num_tokens,
            Span(source_start, self._source_end),
            Span(start, self._end),
            piece.links and tuple(_move(piece.links, source_start, start)),
            piece.tokens,
        )
        self._pieces.append(piece)
        self.segments.append(segment)
        return segment

    def finish(self) -> Translation:
        """Return the translation of the text: its translated segments with the gaps between them."""
        ranks = range(max([1, *[len(piece.hypotheses) for piece in self._pieces]]))
        alternatives = tuple([self._alternative(rank) for rank in ranks])
        return Translation(
            alternatives[0].text,
            alternatives[0].score,
            joint_finish_reason([segment.finish_reason for segment in self.segments]),
            tuple(self.segments),
            alternatives,
            _confidence(self._pieces) if self._options.return_scores else None,
        )

    def _alternative(self, rank: int) -> Alternative:
        """Return the text of each segment's n-th best hypothesis, or of its last one."""
        text = self._document.rejoin([(one.targets[rank:] or one.targets[-1:])[0] for one in self._pieces])
        if not self._options.return_scores:
            return Alternative(text, None)
        every = [one.hypotheses for one in self._pieces if one.hypotheses]
        found = [(hypotheses[rank:] or hypotheses[-1:])[0] for hypotheses in every]
        return Alternative(text, text_score(found, self._options.length_penalty))


def _move(links: Iterable[Link], source_by: int, target_by: int) -> Iterator[Link]:
    for (source_start, source_end), (start, end) in links:
        yield Link(
            Span(source_start + source_by, source_end + source_by), Span(start + target_by, end + target_by)
        )


def _confidence(pieces: Sequence[SegmentOutput]) -> float:
    """Return the geometric mean of the segments' confidences, each weighted by its number of tokens."""
    total, num_tokens = 0.0, 0
    for piece in pieces:
        if piece.hypotheses:
            best = piece.hypotheses[0]
            own = piece.log_confidence
            total += best.logprob if own is None else own * best.num_tokens
            num_tokens += best.num_tokens
    if num_tokens:
        return math.exp(total / num_tokens)
    return 0.0 if any(piece.copied_as is FinishReason.UNSUPPORTED for piece in pieces) else 1.0


def joint_finish_reason(reasons: Collection[FinishReason]) -> FinishReason:
    """Return the finish reason of a whole: the most important one of its parts."""
    return min(reasons, key=BY_WEIGHT.index, default=FinishReason.COPIED)
