"""Split a text into segments, and encode these as ids."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from dragoman.decoding.options import DecodingOptions, SearchOptions
from dragoman.decoding.strategy import TargetLimits
from dragoman.errors import InputError
from dragoman.languages import Languages
from dragoman.manifest import ModelLimits
from dragoman.pipeline.engine_request import DEFAULTS
from dragoman.pipeline.pacing import never_pause
from dragoman.pipeline.terminology import SegmentTerms, TermFinder
from dragoman.text.address import may_address
from dragoman.text.digits import with_digits
from dragoman.text.respelling import RespelledSegment, Respeller
from dragoman.text.segmentation import SegmentedText, has_letters, segment_to_fit
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.validation import check_text
from dragoman.types import FinishReason, Pair, Span

Ids = list[int]
IdsAround = tuple[tuple[int, ...], tuple[int, ...]]
UNSUPPORTED_FROM = 0.5
"""Minimum share of unknown letters for which a segment is not translated. A vocabulary lacks nearly all
letters of a script that it was not trained on; foreign names in a sentence stay below the limit."""
MAX_RUNAWAY_TOKENS = 512
"""Maximum number of target tokens if the caller sets none; a quarter more for a source nearly as long."""


@dataclass(frozen=True, slots=True)
class SegmentInput:
    """A segment to search for."""

    number: int
    """Position among the searched segments of its text."""
    ids: Ids
    has_replacement: bool = False
    """Whether it contains U+FFFD, the replacement character."""
    terms: SegmentTerms | None = None
    """Terms that its translation must contain."""
    spans: tuple[Span, ...] | None = None
    """Span in the segment of each id between those that its languages add; None for the tokenizer's own."""
    respelled: RespelledSegment | None = None
    """What the model reads where the segment has words in capitals, which the translation gets again."""
    as_written: "SegmentInput | None" = None
    """The same without respelling, if the better translation of the two is to be chosen."""

    @property
    def has_quote_spaces(self) -> bool:
        """Whether the model may read spaces after quotation marks that the segment does not have there."""
        return self.spans is not None or (self.respelled is not None and self.respelled.has_quote_spaces)

    def read(self, segment: str) -> str:
        """Return the text that the model reads for the segment."""
        return segment if self.respelled is None else self.respelled.text


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text ready for the search."""

    document: SegmentedText
    sources: tuple[SegmentInput | FinishReason, ...]
    """One for each segment: its input, or the reason why it is copied instead."""
    pair: Pair
    controls: tuple[int, ...] = ()
    """Control ids before the pieces of each segment that may address somebody."""


class Preparer:
    """Prepares texts for a bundle's languages and limits. Safe to use from several threads."""

    def __init__(self, languages: Languages, limits: ModelLimits, tokenizer: Tokenizer) -> None:
        self._languages = languages
        self._limits = limits
        self._tokenizer = tokenizer
        self._respeller = Respeller(tokenizer.word_cost)

    def prepare(
        self,
        text: str,
        pair: Pair,
        item: int | None,
        options: DecodingOptions = DEFAULTS,
        controls: tuple[int, ...] = (),
        term_finder: TermFinder | None = None,
        pause: Callable[[], None] = never_pause,
    ) -> PreparedText:
        """Cut a text into segments, and encode these.

        Args:
            text: of any length.
            pair: one that the bundle serves, in its own codes.
            item: position in the caller's list, for the error; None where there is no list.
            options: say where it may be cut, and with what its translation begins.
            controls: control ids to put before the pieces of each segment that may address somebody.
            term_finder: finds the terms of a segment; None if there are none.
            pause: called between pieces of work, so that other threads may run.

        Raises:
            InputError: the text cannot be translated, or one of its terms.
        """
        around = self.around(pair, controls)
        most = self._limits.max_source_tokens - sum(map(len, around))
        pieces: dict[str, Ids] = {}
        respelled: dict[str, RespelledSegment] = {}
        in_digits: dict[str, RespelledSegment] = {}

        def count_tokens(segment: str) -> int:
            pause()
            if segment not in pieces:
                read, found = segment, with_digits(segment, pair)
                if found is not None:
                    in_digits[segment], read = found, found.text
                words = self._respell(read, pair.source, options, has_terms=term_finder is not None)
                found = words.of_respelled(found) if found and words else found or words
                if found is not None:
                    respelled[segment] = found
                (pieces[segment],) = self._tokenizer.encode([segment if found is None else found.text])
            return len(pieces[segment])

        try:
            check_text(text, item)
            document = segment_to_fit(text, pair.source, count_tokens, most, options.splitting)
        except InputError as error:
            raise InputError(error.field, error.problem, item) from error
        sources: list[SegmentInput | FinishReason] = []
        num_searched = 0
        for segment in document.segments:
            pause()
            if controls:
                around = self.around_segment(segment, pair, controls)
            source = self._source(segment, respelled.get(segment), pieces, around, num_searched)
            if isinstance(source, SegmentInput):
                source = self._with_written(segment, source, around, in_digits.get(segment))
                if term_finder is not None:
                    source = self._with_terms(segment, source, around, term_finder)
            sources.append(source)
            num_searched += isinstance(source, SegmentInput)
        return PreparedText(document, tuple(sources), pair, controls)

    def prepare_one(self, segment: str, pair: Pair, field: str) -> Ids:
        """Return the ids of one segment, which is not cut, with the ids that its languages add.

        Raises:
            InputError: naming the field; it is not valid text, is empty, or is too long.
        """
        try:
            check_text(segment, None)
        except InputError as error:
            raise InputError(field, error.problem) from error
        (ids,) = self.encode([segment], pair)
        most = self._limits.max_source_tokens
        if len(ids) > most:
            raise InputError(field, f"{len(ids)} tokens exceed this model's limit of {most} per segment")
        return ids

    def _respell(
        self, segment: str, language: str, options: DecodingOptions, *, has_terms: bool
    ) -> RespelledSegment | None:
        """Return how the model may read a segment; None if only as it is."""
        if options.target_prefix:  # the model continues it in the case that it has
            return None
        # Terms are annotated where the text that the model reads has the segment's offsets.
        respelled = self._respeller.respell(segment, language, may_add_quote_spaces=not has_terms)
        if respelled is None or respelled.is_in_capitals or options.sampling is None:
            return respelled
        return None  # two random draws are not compared

    def _source(
        self,
        segment: str,
        respelled: RespelledSegment | None,
        pieces: Mapping[str, Ids],
        around: IdsAround,
        number: int,
    ) -> SegmentInput | FinishReason:
        """Return the input of a segment, or why it is copied.

        Args:
            segment: the segment.
            respelled: what the model reads for it; None for the segment.
            pieces: ids of every segment with letters.
            around: ids that its languages add.
            number: position among the searched segments.
        """
        if not has_letters(segment):
            return FinishReason.COPIED
        before, after = around
        ids = [*before, *pieces[segment], *after]
        has_replacement = "\N{REPLACEMENT CHARACTER}" in segment
        source = SegmentInput(number, ids, has_replacement, respelled=respelled)
        if self._tokenizer.unknown_share(source.read(segment), pieces[segment]) >= UNSUPPORTED_FROM:
            return FinishReason.UNSUPPORTED
        return source

    def _with_written(
        self, segment: str, source: SegmentInput, around: IdsAround, in_digits: RespelledSegment | None
    ) -> SegmentInput:
        """Add the input without other respelled words than digits, unless it is too long."""
        if source.respelled is None or source.respelled.is_in_capitals or source.respelled is in_digits:
            return source
        before, after = around
        (pieces,) = self._tokenizer.encode([segment if in_digits is None else in_digits.text])
        ids = [*before, *pieces, *after]
        if len(ids) > self._limits.max_source_tokens:
            return source
        return replace(source, as_written=replace(source, ids=ids, respelled=in_digits))

    def _with_terms(
        self, segment: str, source: SegmentInput, around: IdsAround, term_finder: TermFinder
    ) -> SegmentInput:
        """Return a segment's input with its terms, annotated if the model knows how and they fit."""
        terms = term_finder.find(segment)
        if terms is None:
            return source
        if source.as_written is not None:
            as_written = self._with_terms(segment, source.as_written, around, term_finder)
            source = replace(source, as_written=as_written)
        if source.respelled is not None:  # terms are translated as they are given
            spans_of_terms = [match.span for match in terms.matches]
            source = replace(source, respelled=source.respelled.without(spans_of_terms))
        annotated = None
        if source.respelled is None or source.respelled.offsets is None:  # as matches are
            annotated = term_finder.annotate(source.read(segment), terms.matches)
        before, after = around
        if annotated is None or len(annotated[0]) + len(before) + len(after) > self._limits.max_source_tokens:
            return replace(source, terms=terms)
        ids, spans = annotated
        return replace(source, terms=terms, ids=[*before, *ids, *after], spans=spans)

    def most_target_limits(self, pair: Pair) -> TargetLimits:
        """Return the model's own limits."""
        num_forced = len(self.begin(pair)) - 1
        return TargetLimits(self._limits.max_target_tokens + num_forced, num_forced)

    def encode(self, segments: Sequence[str], pair: Pair) -> list[Ids]:
        """Return the ids of segments with the ids that their languages add, regardless of limits."""
        before, after = self.around(pair)
        return [[*before, *pieces, *after] for pieces in self._tokenizer.encode(segments)]

    def around(self, pair: Pair, controls: tuple[int, ...] = ()) -> IdsAround:
        """Return the ids before and after the pieces of a source."""
        source, target = self._languages.sources[pair.source], self._languages.targets[pair.target]
        return (*target.source_before, *source.before, *controls), source.after

    def around_segment(self, segment: str, pair: Pair, controls: tuple[int, ...]) -> IdsAround:
        """Return the ids around a segment's pieces: without controls where nobody can be addressed."""
        return self.around(pair, controls if controls and may_address(segment, pair.source) else ())

    def begin(self, pair: Pair) -> tuple[int, ...]:
        """Return the ids that a target begins with."""
        return self._languages.targets[pair.target].begin

    def target_limits(
        self, source: Sequence[int], pair: Pair, options: SearchOptions, prefix_len: int
    ) -> TargetLimits:
        """Return limits that stop loops: a translation seldom has twice its source's tokens.

        Ids that the pair forces count as tokens of a search, but not towards a caller's limits.
        """
        num_forced = len(self.begin(pair)) - 1
        runaway = max(MAX_RUNAWAY_TOKENS, len(source) * 5 // 4 + 20)
        default = max(min(2 * len(source) + 20, runaway) + prefix_len, options.min_length)
        most = options.max_length or min(default, self._limits.max_target_tokens)
        return TargetLimits(max_tokens=most + num_forced, min_tokens=max(1, options.min_length) + num_forced)
