"""Split a text into segments, and encode these as ids."""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from dragoman.decoding.options import DecodingOptions, SearchOptions
from dragoman.decoding.strategy import TargetLimits
from dragoman.errors import InputError
from dragoman.languages import Languages
from dragoman.manifest import ModelLimits
from dragoman.pipeline.engine_request import DEFAULT_DECODING
from dragoman.pipeline.neighbours import after_context, join_neighbours, last_sentence
from dragoman.pipeline.pacing import never_pause
from dragoman.pipeline.segment_input import IdsAround, Input, SegmentInput
from dragoman.pipeline.terminology import TermFinder
from dragoman.reading.reader import Ids, Reader, ReadOptions, ReadSegment
from dragoman.text.address import may_address
from dragoman.text.segmentation import WINDOW_CHARS, SegmentedText, fit_segments, has_letters, segment
from dragoman.text.validation import surrogate_problem
from dragoman.types import FinishReason, Pair

UNSUPPORTED_FROM = 0.5
"""Minimum share of unknown letters for which a segment is not translated. A vocabulary lacks nearly all
letters of a script that it was not trained on; foreign names in a sentence stay below the limit."""
MAX_RUNAWAY_TOKENS = 512
"""Maximum number of target tokens if the caller sets none; a quarter more for a source nearly as long."""
MAX_CACHED_LIMITS = 1024
"""Number of limits of targets that are kept, by the length of their sources."""
ENCODED_TOGETHER = 128
"""Maximum segments that are encoded between two calls of `pause`: they take a few milliseconds."""


class PreparedText(NamedTuple):
    """A text ready for the search."""

    document: SegmentedText
    sources: Sequence[Input]
    """One for each segment."""


class Preparer:
    """Prepares texts for a bundle's languages and limits. Safe to use from several threads."""

    def __init__(self, languages: Languages, limits: ModelLimits, reader: Reader) -> None:
        self._languages = languages
        self._limits = limits
        self._reader = reader

    def prepare(
        self,
        texts: Sequence[str],
        pair: Pair,
        first_item: int | None,
        options: DecodingOptions = DEFAULT_DECODING,
        controls: tuple[int, ...] = (),
        term_finder: TermFinder | None = None,
        pause: Callable[[], None] = never_pause,
    ) -> list[PreparedText | InputError]:
        """Cut texts into segments, and encode these together.

        Args:
            texts: of any length.
            pair: one that the bundle serves, in its own codes.
            first_item: position of the first one in the caller's list, for errors; None without a list.
            options: say where texts may be cut, and with what their translations begin.
            controls: control ids to put before the pieces of each segment that may address somebody.
            term_finder: finds the terms of a segment; None if there are none.
            pause: called between pieces of work, so that other threads may run.

        Returns:
            Per text what was prepared, or the error: it cannot be translated, or one of its terms.
        """
        how = ReadOptions(
            as_written=options.target_prefix != "",
            may_choose=options.sampling is None,
            may_add_quote_spaces=term_finder is None,
        )
        is_sentence = options.target_prefix != "" or options.max_length is not None
        group_tokens = 0 if is_sentence else self._reader.reading_of(pair.source).group_tokens
        read = _ReadSegments(self._reader, pair.source, how, pause, group_tokens)
        before = last_sentence(options.context, pair.source) if group_tokens and options.context else ""
        documents = [_segment(text, pair.source, options) for text in texts]
        sentences = [
            sentence
            for document in documents
            if isinstance(document, SegmentedText)
            for sentence in document.segments
            if len(sentence) <= WINDOW_CHARS and has_letters(sentence)
        ]
        for start in range(0, len(sentences), ENCODED_TOGETHER):
            pause()
            read.add(sentences[start : start + ENCODED_TOGETHER])
        around, without_controls = self.around(pair, controls), self.around(pair)

        def input_of(sentence: str, number: int) -> Input:
            pause()
            own = around if not controls or may_address(sentence, pair.source) else without_controls
            return self._source(sentence, read, own, number, term_finder)

        prepared: list[PreparedText | InputError] = []
        for index, document in enumerate(documents):
            try:
                if isinstance(document, InputError):
                    raise document
                prepared.append(self._prepare(document, before, read, sum(map(len, around)), input_of))
            except InputError as error:
                item = None if first_item is None else first_item + index
                prepared.append(InputError(error.field, error.problem, item))
        return prepared

    def _prepare(
        self,
        document: SegmentedText,
        before: str,
        read: "_ReadSegments",
        num_around: int,
        input_of: Callable[[str, int], Input],
    ) -> PreparedText:
        """Cut segments that are too long, join short ones, and return the inputs of all.

        Args:
            document: the text's sentences.
            before: the sentence before the text; empty if it has none.
            read: what the model reads for them.
            num_around: number of ids that their languages and controls add.
            input_of: returns the input of a segment at a position among those that are searched for.
        """
        document = fit_segments(document, read.count_tokens, self._limits.max_source_tokens - num_around)
        sources: list[Input] = []
        num_searched = 0
        for sentence in document.segments:
            sources.append(input_of(sentence, num_searched))
            num_searched += isinstance(sources[-1], SegmentInput)
        if sources and (before or (read.group_tokens and len(sources) > 1)):
            reading, sentence = self._reader.reading_of(read.language), document.segments[0]
            document, sources = join_neighbours(document, sources, reading, input_of)
            if before and not document.gaps[0] and reading.needs_context(sentence):
                joined = input_of(f"{before} {document.segments[0]}", 0)
                sources[0] = after_context(sources[0], reading, joined)
        return PreparedText(document, sources)

    def prepare_one(self, segment: str, pair: Pair, field: str) -> SegmentInput:
        """Return the input of one segment, which is not cut.

        Raises:
            InputError: naming the field; it is not valid text, is empty, or is too long.
        """
        if (problem := surrogate_problem(segment)) is not None:
            raise InputError(field, problem)
        source = self._input(segment, self._reader.read(segment, pair.source), self.around(pair), 0)
        most, num_tokens = self._limits.max_source_tokens, len(source.ids)
        if num_tokens > most:
            raise InputError(field, f"{num_tokens} tokens exceed this model's limit of {most} per segment")
        return source

    def _source(
        self,
        segment: str,
        read: "_ReadSegments",
        around: IdsAround,
        number: int,
        term_finder: TermFinder | None,
    ) -> Input:
        """Return the input of a segment, with its terms, or why it is copied; see `_input`."""
        if segment not in read and not has_letters(segment):
            return FinishReason.COPIED
        encoded = read[segment]
        source = self._input(segment, encoded, around, number)
        if self._reader.unknown_share(source.text(segment), encoded.ids) >= UNSUPPORTED_FROM:
            return FinishReason.UNSUPPORTED
        return source if term_finder is None else self._with_terms(segment, source, around, term_finder)

    def _input(self, segment: str, encoded: ReadSegment, around: IdsAround, number: int) -> SegmentInput:
        """Return the input of a segment.

        Args:
            segment: the segment.
            encoded: what the model reads for it.
            around: ids that its languages add.
            number: position among the searched segments.
        """
        as_written = None
        if encoded.as_written is not None:
            fitting = self._input(segment, encoded.as_written, around, number)
            as_written = fitting if len(fitting.ids) <= self._limits.max_source_tokens else None
        has_replacement = "\N{REPLACEMENT CHARACTER}" in segment
        ids = _join_ids(encoded.ids, around)
        return SegmentInput(number, ids, has_replacement, None, None, encoded.read, as_written, around)

    def _with_terms(
        self, segment: str, source: SegmentInput, around: IdsAround, term_finder: TermFinder
    ) -> SegmentInput:
        """Return a segment's input with its terms, annotated if the model knows how and they fit."""
        terms = term_finder.find(segment)
        if terms is None:
            return source
        if source.as_written is not None:
            as_written = self._with_terms(segment, source.as_written, around, term_finder)
            source = source._replace(as_written=as_written)
        if source.read is not None:  # terms are translated as they are given
            spans_of_terms = [match.span for match in terms.matches]
            source = source._replace(read=source.read.without(spans_of_terms))
        annotated = None
        if source.read is None or source.read.offsets is None:  # as matches are
            annotated = term_finder.annotate(source.text(segment), terms.matches)
        before, after = around
        if annotated is None or len(annotated[0]) + len(before) + len(after) > self._limits.max_source_tokens:
            return source._replace(terms=terms)
        ids, spans = annotated
        return source._replace(terms=terms, ids=_join_ids(ids, around), spans=spans)

    def most_target_limits(self, pair: Pair) -> TargetLimits:
        """Return the model's own limits."""
        num_forced = len(self.begin(pair)) - 1
        return TargetLimits(self._limits.max_target_tokens + num_forced, num_forced)

    def encode(self, segments: Sequence[str], pair: Pair) -> list[Ids]:
        """Return the ids of segments with the ids that their languages add, regardless of limits."""
        around, read = self.around(pair), self._reader.read_all(segments, pair.source, ReadOptions())
        return [_join_ids(read[segment].ids, around) for segment in segments]

    def around(self, pair: Pair, controls: tuple[int, ...] = ()) -> IdsAround:
        """Return the ids before and after the pieces of a source."""
        source, target = self._languages.sources[pair.source], self._languages.targets[pair.target]
        return (*target.source_before, *source.before, *controls), source.after

    def begin(self, pair: Pair) -> tuple[int, ...]:
        """Return the ids that a target begins with."""
        return self._languages.targets[pair.target].begin

    def target_limits(
        self, source: Sequence[int], begin: Sequence[int], options: SearchOptions, prefix_len: int
    ) -> TargetLimits:
        """Return limits that stop loops: a translation seldom has twice its source's tokens.

        Ids that the pair forces count as tokens of a search, but not towards a caller's limits.
        """
        return _target_limits(
            len(source),
            len(begin) - 1,
            options.min_length,
            options.max_length or self._limits.max_target_tokens,
            None if options.max_length else prefix_len,
        )


class _ReadSegments(dict[str, ReadSegment]):
    """Cache of what the model reads for segments; each is read once. Not safe to use from several threads."""

    def __init__(
        self,
        reader: Reader,
        language: str,
        options: ReadOptions,
        pause: Callable[[], None],
        group_tokens: int,
    ) -> None:
        self.group_tokens = group_tokens
        """Maximum tokens of consecutive sentences that are read together; 0 for one at a time."""
        self.language = language
        self._reader = reader
        self._options = options
        self._pause = pause

    def count_tokens(self, segment: str) -> int:
        """Return the number of tokens of a segment."""
        return len(self[segment].ids)

    def __missing__(self, segment: str) -> ReadSegment:
        """Read a new segment."""
        self._pause()
        self.add([segment])
        return self[segment]

    def add(self, segments: Iterable[str]) -> None:
        """Read segments together, those that are new."""
        new = [segment for segment in segments if segment not in self]
        self.update(self._reader.read_all(new, self.language, self._options))


@lru_cache(MAX_CACHED_LIMITS)
def _target_limits(
    num_tokens: int, num_forced: int, min_length: int, most: int, prefix_len: int | None
) -> TargetLimits:
    """Return limits for a source of some length; without `prefix_len`, `most` is the caller's own limit."""
    if prefix_len is not None:
        runaway = max(MAX_RUNAWAY_TOKENS, num_tokens * 5 // 4 + 20)
        most = min(max(min(2 * num_tokens + 20, runaway) + prefix_len, min_length), most)
    return TargetLimits(max_tokens=most + num_forced, min_tokens=max(1, min_length) + num_forced)


def _segment(text: str, language: str, options: DecodingOptions) -> SegmentedText | InputError:
    if (problem := surrogate_problem(text)) is not None:
        return InputError("text", problem)
    return segment(text, language, options.splitting)


def _join_ids(pieces: Ids, around: IdsAround) -> Ids:
    before, after = around
    return [*before, *pieces, *after]
