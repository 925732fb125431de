"""Decode hypotheses to text, with word links and tokens where forced decoding was requested."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragoman.confidence import ConfidenceMap
from dragoman.manifest import AlignmentHeads
from dragoman.pipeline.assembly import SegmentOutput
from dragoman.pipeline.preparation import PreparedText
from dragoman.pipeline.resolution import ResolvedRequest
from dragoman.pipeline.segment_input import IdsAround, Input, SegmentInput
from dragoman.reading.read_text import RewordedText, find_quote_spaces, without_quote_spaces
from dragoman.reading.reader import Reader
from dragoman.text.address import translated_forms
from dragoman.text.capitals import offsets_in_capitals, to_capitals, with_first_capital, words_at
from dragoman.text.swiss import offsets_in_swiss, to_swiss
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.words import Word, group_into_words
from dragoman.types import FinishReason, ForcedDecoding, Hypothesis, Link, SegmentTranslation, Span, Token


def link_words(
    attention: NDArray[np.float32], source: Sequence[Word], target: Sequence[Word]
) -> tuple[Link, ...]:
    """Return a link for each target word, in their order; none where there is no source word.

    Every target word goes with the source word that it attends to most, all pieces of both added up: Garg et
    al. 2019, "Jointly Learning to Align and Translate with Transformer Models", arXiv:1909.02074, take the
    maximum by piece. docs/explanation/forced-decoding.md says which attention is used, and how often it is
    right.

    Args:
        attention: float32 [target pieces, source pieces]; what a source's own tokens that are no piece of
            its text attract is left out before.
        source: words whose pieces are all columns, in order.
        target: words whose pieces are all rows, in order.
    """
    if not source or not target:
        return ()
    columns = np.add.reduceat(attention, [word.pieces[0] for word in source], axis=1)
    best = np.add.reduceat(columns, [word.pieces[0] for word in target]).argmax(axis=1).tolist()
    return tuple(Link(source[column].span, word.span) for column, word in zip(best, target, strict=True))


END_OF_SENTENCE = "</s>"
"""Text of the last token of a target."""


class FoundSegment(NamedTuple):
    """A segment and what was found for it."""

    text: PreparedText
    number: int
    """Position of the text among those of its request."""
    position: int
    """Of the segment in the text."""
    source: Input
    """The input that was searched for, or the reason why the segment is copied."""
    hypotheses: Sequence[Hypothesis]


class Postprocessor:
    """Makes segment outputs from hypotheses. Safe to use from several threads."""

    def __init__(
        self, reader: Reader, target: Tokenizer, alignment: AlignmentHeads, confidence: ConfidenceMap | None
    ) -> None:
        self._reader = reader
        self._target = target
        self._alignment = alignment
        self._confidence = confidence

    def pieces(self, found: Sequence[FoundSegment], resolved: ResolvedRequest) -> list[SegmentOutput]:
        """Return the outputs of segments, whose hypotheses are decoded together."""
        decoded = iter(self._target.decode([one.ids for each in found for one in each.hypotheses]))
        return [self._piece(one, resolved, tuple(islice(decoded, len(one.hypotheses)))) for one in found]

    def _piece(self, one: FoundSegment, resolved: ResolvedRequest, targets: tuple[str, ...]) -> SegmentOutput:
        """Return the output of a segment, whose hypotheses are these texts."""
        text, _, index, source, found = one
        segments, options = text.document.segments, resolved.options
        segment, language = segments[index], resolved.pair.target
        wants_links, wants_tokens = options.return_alignment, options.return_tokens
        if isinstance(source, FinishReason):
            return SegmentOutput(
                segment, 0, (), (segment,), () if wants_links else None, () if wants_tokens else None, source
            )
        if not options.target_prefix:
            targets = tuple([with_first_capital(target, language, segments, index) for target in targets])
        best = found[0]
        log_confidence = None
        if self._confidence is not None and options.return_scores:
            mean_logprob = best.logprob / best.num_tokens
            log_confidence = self._confidence.log_confidence(len(segment), len(targets[0]), mean_logprob)
        links: tuple[Link, ...] = ()
        if best.reading is not None:
            links = self.links(source.text(segment), targets[0], source.around, best, source.spans)
        if source.read is not None:
            targets, links = _in_capitals(source.read, targets, links, language)
        if source.has_quote_spaces:
            targets, links = _without_quote_spaces(targets, links)
        if resolved.is_swiss:
            links = _moved(links, offsets_in_swiss(targets[0]).__getitem__)
            targets = tuple(map(to_swiss, targets))
        tokens = None
        if wants_tokens:
            tokens = () if best.reading is None else self.tokens(best, best.reading)
        return SegmentOutput(
            segment,
            len(source.ids),
            found,
            targets,
            links if wants_links else None,
            tokens,
            log_confidence=log_confidence,
            forms=translated_forms(segment, targets[0], resolved.pair) if resolved.forms else frozenset(),
        )

    def scored(
        self, texts: tuple[str, str], read: tuple[SegmentInput, RewordedText | None], found: Hypothesis
    ) -> SegmentTranslation:
        """Return the scores of a given target.

        Args:
            texts: the source and the target.
            read: the reading of the source by which the target is more probable, and that of the target.
            found: the target, decoded by force.
        """
        source, target = texts
        segment, read_target = read
        target_text = target if read_target is None else read_target.text
        links = tuple(
            Link(
                link.source if segment.read is None else segment.read.in_segment(link.source),
                link.target if read_target is None else read_target.in_segment(link.target),
            )
            for link in self.links(segment.text(source), target_text, segment.around, found)
        )
        return SegmentTranslation(
            source=source,
            text=target,
            score=found.score,
            finish_reason=found.finish_reason,
            num_source_tokens=len(segment.ids),
            num_target_tokens=found.num_tokens,
            source_span=Span(0, len(source)),
            span=Span(0, len(target)),
            links=links,
            tokens=() if found.reading is None else self.tokens(found, found.reading),
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
        attention = read.reading.attention
        rows = np.arange(len(read.ids)) + self._alignment.reads_token
        rows = np.minimum(rows, len(attention) - 1)  # tokens beyond the length limit have no attention
        attention = attention[rows, len(around[0]) : attention.shape[1] - len(around[1])]
        source_words = group_into_words(source, self._reader.spans(source) if spans is None else spans)
        return link_words(
            attention, source_words, group_into_words(target, self._target.target_spans(read.ids))
        )

    def tokens(self, read: Hypothesis, reading: ForcedDecoding) -> tuple[Token, ...]:
        """Return a target's tokens with their log-probabilities."""
        names = [*self._target.pieces(read.ids), END_OF_SENTENCE]
        return tuple(Token(name, logprob) for name, logprob in zip(names, reading.logprobs, strict=False))


def _moved(links: Sequence[Link], offset: Callable[[int], int]) -> tuple[Link, ...]:
    """Return links to a target that was changed, by a function from its offsets to the new ones."""
    return tuple(Link(source, Span(offset(start), offset(end))) for source, (start, end) in links)


def _in_capitals(
    read: RewordedText, targets: Sequence[str], links: Sequence[Link], language: str
) -> tuple[tuple[str, ...], tuple[Link, ...]]:
    """Return targets and the best one's links with the capitals of their source.

    Args:
        read: what the model has read; links say which words of the best target get capitals, unless all
            words of all targets do.
        targets: the best one first.
        links: links between the words that the model has read and the best target's.
        language: of the targets.
    """
    best, *others = targets
    links = tuple(Link(read.in_segment(link.source), link.target) for link in links)
    words = read.words
    if words == ():
        return tuple(targets), links
    capitals: Sequence[Span] | None = None
    if words is None:
        others = [to_capitals(target, language) for target in others]
    else:
        linked = [link.target for link in links if any(link.source.overlaps(word) for word in words)]
        capitals = words_at(best, linked)
    moved = _moved(links, offsets_in_capitals(best, language, capitals).__getitem__)
    return (to_capitals(best, language, capitals), *others), moved


def _without_quote_spaces(
    targets: Sequence[str], links: Sequence[Link]
) -> tuple[tuple[str, ...], tuple[Link, ...]]:
    """Return targets, and the best one's links, without their quote spaces."""
    spaces = find_quote_spaces(targets[0]) if links else ()
    moved = _moved(links, lambda offset: offset - bisect_left(spaces, offset))
    return tuple(map(without_quote_spaces, targets)), moved
