"""What is asked of the scheduler: a search for every segment, and a reading after it where one is wanted."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from dragoman.decoding.sampling import segment_seed
from dragoman.decoding.strategy import Source
from dragoman.pipeline.preparation import Preparer, SegmentInput
from dragoman.pipeline.resolution import ResolvedRequest
from dragoman.pipeline.segment_cache import SegmentCache
from dragoman.scheduling.replica import Outcome, SegmentRequest
from dragoman.types import Hypothesis, Method, SearchKind

Ids = list[int]
Tell = Callable[[Outcome], None]


class SegmentRequestFactory:
    """Makes the scheduler's requests for segments. Safe to use from several threads."""

    def __init__(
        self,
        preparer: Preparer,
        segment_cache: SegmentCache,
        go_on: Callable[[Sequence[SegmentRequest]], None],
        has_shortlist: bool,  # noqa: FBT001 -- a fact that is handed on, not a mode
    ) -> None:
        """Nothing is asked for yet.

        Args:
            preparer: knows limits and what targets begin with.
            segment_cache: remembers what was found.
            go_on: lets requests wait, whatever else does.
            has_shortlist: whether the bundle has one.
        """
        self._preparer = preparer
        self._segment_cache = segment_cache
        self._go_on = go_on
        self._has_shortlist = has_shortlist

    def make(
        self, segment: SegmentInput, request: ResolvedRequest, tell: Tell
    ) -> tuple[SegmentRequest, list[Hypothesis] | None]:
        """A request for a segment, and its hypotheses if they are remembered.

        Remembered ones are for the caller to hand to its `on_done`, which may go on to a reading.

        Args:
            segment: to be searched for.
            request: how.
            tell: called with what is found, and read.
        """
        source = self._source(segment, request)
        kind = request.options.kind(self._has_shortlist)
        segment_request = self._segment_request(
            source, kind, request, self._reading_next(source, request, tell)
        )
        return segment_request, self._segment_cache.find(source, kind, request.cache_partition)

    def scoring(
        self, ids: Ids, given: tuple[int, ...], request: ResolvedRequest, tell: Tell
    ) -> SegmentRequest:
        """A request to read a target that nobody searched for.

        Raises:
            InputError: it is longer than the model's targets may be.
        """
        source = Source(
            ids=ids,
            begin=self._preparer.begin(request.pair),
            limits=self._preparer.most_target_limits(request.pair),
            length_penalty=request.options.length_penalty,
            given=given,
        )
        return self._segment_request(source, SearchKind(1, method=Method.SCORE), request, tell)

    def _source(self, segment: SegmentInput, request: ResolvedRequest) -> Source:
        options = request.options
        prefix = () if segment.number else request.prefix
        sampling = options.sampling
        return Source(
            ids=segment.ids,
            begin=self._preparer.begin(request.pair),
            limits=self._preparer.target_limits(segment.ids, request.pair, options, len(prefix)),
            length_penalty=options.length_penalty,
            num_hypotheses=options.num_hypotheses,
            early_stopping=options.early_stopping,
            prefix=prefix,
            repetition_penalty=options.repetition_penalty,
            no_repeat_ngram_size=options.no_repeat_ngram_size,
            sampling=sampling,
            may_replace=segment.has_replacement,
            seed=0 if sampling is None else segment_seed(sampling, segment.number),
        )

    def _segment_request(
        self, source: Source, kind: SearchKind, request: ResolvedRequest, tell: Tell
    ) -> SegmentRequest:
        on_done = self._segment_cache.keeping(source, kind, tell, request.cache_partition)
        segment_request = SegmentRequest(source, kind, request.priority, on_done, request.flow)
        segment_request.deadline_s, segment_request.timeout_s = request.deadline_s, request.timeout_s
        request.segment_requests.append(segment_request)
        return segment_request

    def _reading_next(self, source: Source, request: ResolvedRequest, tell: Tell) -> Tell:
        """Let the best hypothesis be read where its words or tokens are asked for; then `tell`."""
        options = request.options
        if not (options.return_alignment or options.return_tokens):
            return tell
        kind = SearchKind(1, method=Method.SCORE if options.return_tokens else Method.ALIGN)

        def read(outcome: Outcome) -> None:
            if isinstance(outcome, Exception):
                tell(outcome)
                return
            best = outcome[0]
            given = replace(source, given=best.ids, num_hypotheses=1, sampling=None, seed=0)

            def add_reading(read: Outcome) -> None:
                if not isinstance(read, Exception):
                    read = [replace(best, reading=read[0].reading), *outcome[1:]]
                tell(read)

            found = self._segment_cache.find(given, kind, request.cache_partition)
            if found is not None:
                add_reading(found)
                return
            self._go_on([self._segment_request(given, kind, request, add_reading)])

        return read
