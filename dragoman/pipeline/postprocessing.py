"""Decode hypotheses to text, with word links and tokens where forced decoding was requested."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dragoman.confidence import ConfidenceMap
from dragoman.decoding.options import SearchOptions
from dragoman.decoding.scoring import normalised_score
from dragoman.manifest import AlignmentHeads
from dragoman.pipeline.assembly import SegmentOutput
from dragoman.pipeline.preparation import IdsAround, PreparedText, Preparer, SegmentInput
from dragoman.pipeline.word_alignment import link_words
from dragoman.text.capitals import offsets_in_capitals, sentence_case, to_capitals
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.words import group_into_words
from dragoman.types import (
    FinishReason,
    ForcedDecoding,
    Hypothesis,
    Link,
    Pair,
    SegmentTranslation,
    Span,
    Token,
)

END_OF_SENTENCE = "</s>"
"""Text of the last token of a target."""


class Postprocessor:
    """Makes segment outputs from hypotheses. Safe to use from several threads."""

    def __init__(
        self,
        preparer: Preparer,
        source: Tokenizer,
        target: Tokenizer,
        alignment: AlignmentHeads,
        confidence: ConfidenceMap | None,
    ) -> None:
        self._preparer = preparer
        self._source = source
        self._target = target
        self._alignment = alignment
        self._confidence = confidence

    def piece(
        self, text: PreparedText, index: int, found: Sequence[Hypothesis], options: SearchOptions
    ) -> SegmentOutput:
        """Return the output of the segment at `index`; `found` is its hypotheses, none if it is copied."""
        segment, source = text.document.segments[index], text.sources[index]
        in_capitals = isinstance(source, SegmentInput) and source.in_capitals
        targets = tuple(self._target.decode([hypothesis.ids for hypothesis in found]))
        reading = found[0].reading if found else None
        links = tokens = None
        if options.return_alignment:
            around = self._preparer.around(text.pair, text.controls)
            spans = source.spans if isinstance(source, SegmentInput) else None
            read = sentence_case(segment, text.pair.source) if in_capitals else segment
            links = () if reading is None else self.links(read, targets[0], around, found[0], spans)
        if options.return_tokens:
            tokens = () if reading is None else self.tokens(found[0], reading)
        if isinstance(source, FinishReason):
            return SegmentOutput(segment, 0, (), (), links, tokens, source)
        log_confidence = None
        if self._confidence is not None:
            mean_logprob = normalised_score(found[0].logprob, found[0].num_tokens, length_penalty=1.0)
            log_confidence = self._confidence.log_confidence(len(segment), len(targets[0]), mean_logprob)
        if source.in_capitals:
            links = links and _move_to_capitals(links, targets[0], text.pair.target)
            targets = tuple(to_capitals(target, text.pair.target) for target in targets)
        return SegmentOutput(
            segment, len(source.ids), tuple(found), targets, links, tokens, log_confidence=log_confidence
        )

    def scored(
        self, texts: tuple[str, str], ids: Sequence[int], read: Hypothesis, pair: Pair
    ) -> SegmentTranslation:
        """Return the scores of a given target."""
        source, target = texts
        return SegmentTranslation(
            source=source,
            text=target,
            score=read.score,
            finish_reason=read.finish_reason,
            num_source_tokens=len(ids),
            num_target_tokens=read.num_tokens,
            source_span=Span(0, len(source)),
            span=Span(0, len(target)),
            links=self.links(source, target, self._preparer.around(pair), read),
            tokens=() if read.reading is None else self.tokens(read, read.reading),
        )

    def links(
        self,
        source: str,
        target: str,
        around: IdsAround,
        read: Hypothesis,
        spans: Sequence[Span] | None = None,
    ) -> tuple[Link, ...]:
        """Return links between words of a segment and of its target; none without forced decoding.

        Args:
            source: the segment.
            target: its translation.
            around: ids that its languages add.
            read: the hypothesis that was decoded by force.
            spans: what each id between those stands for in the segment; None for the tokenizer's own pieces.
        """
        if read.reading is None:
            return ()
        attention = self._by_piece(read.reading.attention, around, len(read.ids))
        source_words = group_into_words(source, self._source.source_spans(source) if spans is None else spans)
        return link_words(
            attention, source_words, group_into_words(target, self._target.target_spans(read.ids))
        )

    def tokens(self, read: Hypothesis, reading: ForcedDecoding) -> tuple[Token, ...]:
        """Return a target's tokens with their log-probabilities."""
        names = [*self._target.pieces(read.ids), END_OF_SENTENCE]
        return tuple(Token(name, logprob) for name, logprob in zip(names, reading.logprobs, strict=False))

    def _by_piece(
        self, attention: NDArray[np.float32], around: IdsAround, num_pieces: int
    ) -> NDArray[np.float32]:
        """Return the attention between pieces, float32 [target pieces, source pieces]."""
        before, after = around
        rows = np.arange(num_pieces) + self._alignment.reads_token
        rows = np.minimum(rows, len(attention) - 1)  # tokens beyond the length limit have no attention
        return attention[rows, len(before) : attention.shape[1] - len(after)]


def _move_to_capitals(links: tuple[Link, ...], target: str, language: str) -> tuple[Link, ...]:
    """Return the links between a source and its target once the target is in capitals."""
    offsets = offsets_in_capitals(target, language)
    return tuple(Link(source, Span(offsets[span.start], offsets[span.end])) for source, span in links)
