"""Make the scheduler's requests for a text's segments."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain

from dragoman.decoding.constrained import constrained_beam_size
from dragoman.decoding.options import SearchOptions
from dragoman.decoding.sampling import segment_seed
from dragoman.decoding.scoring import normalised_score, text_score
from dragoman.decoding.strategy import Source
from dragoman.pipeline.assembly import joint_finish_reason
from dragoman.pipeline.preparation import Preparer, SegmentInput
from dragoman.pipeline.resolution import ResolvedRequest
from dragoman.pipeline.segment_cache import SegmentCache
from dragoman.pipeline.terminology import SegmentTerms
from dragoman.scheduling.segment_request import Outcome, SegmentRequest
from dragoman.text.segmentation import segment as split_text
from dragoman.types import FinishReason, Hypothesis, Method, SearchKind

OnDone = Callable[[Outcome], object]
Receive = Callable[[SegmentInput], OnDone]
"""Returns what receives the outcome of an input."""
Begin = Callable[[SegmentInput, OnDone], tuple[SegmentRequest, list[Hypothesis] | None]]
"""Makes the request for one reading of a segment, and looks for its hypotheses in the cache."""
Enqueue = Callable[[Sequence[SegmentRequest]], None]
Made = list[SegmentRequest]
"""All requests that were made for a text, so that they can be cancelled."""


class SegmentRequestFactory:
    """Makes a search for each segment, followed by forced decoding for what is needed and it did not return.

    Safe to use from several threads.
    """

    def __init__(
        self,
        preparer: Preparer,
        segment_cache: SegmentCache,
        enqueue: Enqueue,
        decode: Callable[[Sequence[int]], str],
        has_shortlist: bool,  # noqa: FBT001 -- a fact that is handed on, not a mode
    ) -> None:
        """Create a factory.

        Args:
            preparer: has the limits, and what targets begin with.
            segment_cache: holds hypotheses of earlier requests.
            enqueue: schedules the search or forced decoding that follows a search, however full the queue is.
            decode: returns the text of a target's ids.
            has_shortlist: whether the bundle has one.
        """
        self._decode = decode
        self._preparer = preparer
        self._segment_cache = segment_cache
        self._enqueue = enqueue
        self._has_shortlist = has_shortlist

    def search(
        self, segment: SegmentInput, resolved: ResolvedRequest, made: Made, receive: Receive
    ) -> tuple[SegmentRequest, list[Hypothesis] | None]:
        """Make the request to search for a segment's translation.

        If the segment can be read as it is written too, the search for that follows, and the hypotheses are
        those of the reading that the model finds more probable.

        Returns:
            The request, and its hypotheses if they are cached: the caller then passes them to the request's
            `on_done`, which may enqueue further requests, and does not schedule the request.
        """
        return self._begin_readings(
            segment,
            lambda one, on_done: self._search(one, resolved, made, on_done),
            lambda one: self._then_decode_forced(one, resolved, made, receive),
        )

    def begin(self, segment: SegmentInput, resolved: ResolvedRequest, made: Made, receive: Receive) -> None:
        """Search for another translation of a segment, however full the queue is."""
        self._continue(*self.search(segment, resolved, made, receive))

    def score(
        self,
        segment: SegmentInput,
        target_ids: tuple[Sequence[int], Sequence[int]],
        resolved: ResolvedRequest,
        made: Made,
        receive: Receive,
    ) -> SegmentRequest:
        """Make the request to score a given target, by each reading of its segment that `search` has.

        Args:
            segment: the source.
            target_ids: the target in the spelling of the first reading, and as it is written.
            resolved: the request.
            made: gets the requests.
            receive: gets the reading by which the target is more probable, and its score.

        Raises:
            InputError: it is longer than the model's targets may be.
        """
        sources = [
            Source(
                ids=one.ids,
                begin=self._preparer.begin(resolved.pair),
                limits=self._preparer.most_target_limits(resolved.pair),
                length_penalty=resolved.options.length_penalty,
                target_ids=tuple(ids),
            )
            for one, ids in zip((segment, segment.as_written or segment), target_ids, strict=True)
        ]
        kind = SearchKind(1, method=Method.SCORE)
        request, _ = self._begin_readings(
            segment,
            lambda one, on_done: (
                self._request(sources[one is not segment], kind, resolved, made, on_done),
                None,
            ),
            receive,
        )
        return request

    def _begin_readings(
        self, segment: SegmentInput, begin: Begin, receive: Receive
    ) -> tuple[SegmentRequest, list[Hypothesis] | None]:
        """Begin with the first reading of a segment; the better one of its readings is received."""
        as_written, read = segment.as_written, segment.read
        if as_written is None or read is None:
            return begin(segment, receive(segment))

        def begin_as_written(found: list[Hypothesis]) -> None:
            def choose(found_as_written: list[Hypothesis]) -> None:
                advantage = _mean_logprob(found) + read.bonus - _mean_logprob(found_as_written)
                best, hypotheses = (segment, found) if advantage > 0 else (as_written, found_as_written)
                receive(best)(hypotheses)

            self._continue(*begin(as_written, _if_found(receive(as_written), choose)))

        return begin(segment, _if_found(receive(segment), begin_as_written))

    def _search(
        self, segment: SegmentInput, resolved: ResolvedRequest, made: Made, on_done: OnDone
    ) -> tuple[SegmentRequest, list[Hypothesis] | None]:
        """Make the request for one reading of a segment; see `search`."""
        source = self._source(segment, resolved)
        kind = resolved.options.kind(self._has_shortlist)
        if segment.sentences:
            on_done = self._then_search_sentences(segment.sentences, resolved, made, on_done)
        if segment.terms is not None:
            beam_size = constrained_beam_size(
                kind.beam_size, len(segment.terms.matches), is_annotated=segment.spans is not None
            )
            on_done = self._then_require_terms(source, beam_size, segment.terms, resolved, made, on_done)
            source = replace(source, num_hypotheses=kind.beam_size)  # one of them may have all terms
        return self._find_or_request(source, kind, resolved, made, on_done)

    def _find_or_request(
        self, source: Source, kind: SearchKind, resolved: ResolvedRequest, made: Made, on_done: OnDone
    ) -> tuple[SegmentRequest, list[Hypothesis] | None]:
        """Make a request, and look for its hypotheses in the cache."""
        request = self._request(source, kind, resolved, made, on_done)
        return request, self._segment_cache.find(source, kind, resolved.request.cache_partition)

    def _continue(self, request: SegmentRequest, cached: list[Hypothesis] | None) -> None:
        """Schedule a request that follows another one, unless its hypotheses are cached."""
        if cached is None:
            self._enqueue([request])
        else:
            request.on_done(cached)

    def _source(self, segment: SegmentInput, resolved: ResolvedRequest) -> Source:
        options = resolved.options
        prefix = () if segment.number else resolved.prefix
        sampling = options.sampling
        return Source(
            ids=segment.ids,
            begin=self._preparer.begin(resolved.pair),
            limits=self._preparer.target_limits(segment.ids, resolved.pair, options, len(prefix)),
            length_penalty=options.length_penalty,
            num_hypotheses=options.num_hypotheses,
            early_stopping=options.early_stopping,
            prefix=prefix,
            repetition_penalty=options.repetition_penalty,
            no_repeat_ngram_size=options.no_repeat_ngram_size,
            sampling=sampling,
            can_spell_replacement=segment.has_replacement,
            wants_attention=not options.return_tokens and _needs_attention(segment, options),
            seed=0 if sampling is None else segment_seed(sampling, segment.number),
        )

    def _request(
        self, source: Source, kind: SearchKind, resolved: ResolvedRequest, made: Made, on_done: OnDone
    ) -> SegmentRequest:
        on_done = self._segment_cache.storing(source, kind, on_done, resolved.request.cache_partition)
        request = SegmentRequest(
            source, kind, resolved.request.priority, on_done, resolved.flow, resolved.request.deadline
        )
        made.append(request)
        return request

    def _then_require_terms(
        self,
        source: Source,
        beam_size: int,
        terms: SegmentTerms,
        resolved: ResolvedRequest,
        made: Made,
        on_done: OnDone,
    ) -> OnDone:
        """Return a receiver of hypotheses that passes on those with all terms, or searches for one."""
        constrained = replace(source, constraints=terms.constraints)
        constrained_kind = SearchKind(beam_size, method=Method.CONSTRAINED)

        def require(hypotheses: list[Hypothesis]) -> None:
            complete = [one for one in hypotheses if terms.are_met(self._decode(one.ids))]
            if complete:
                on_done(complete[: source.num_hypotheses])
                return
            self._continue(*self._find_or_request(constrained, constrained_kind, resolved, made, on_done))

        return _if_found(on_done, require)

    def _then_search_sentences(
        self, sentences: Sequence[SegmentInput], resolved: ResolvedRequest, made: Made, on_done: OnDone
    ) -> OnDone:
        """Return a receiver of hypotheses of several sentences, which searches for each if one is lost."""

        def search_next(found: Sequence[list[Hypothesis]]) -> None:
            if len(found) == len(sentences):
                on_done(_join_sentences(found, resolved.options.length_penalty))
                return
            receive = _if_found(on_done, lambda hypotheses: search_next([*found, hypotheses]))
            self._continue(*self._search(sentences[len(found)], resolved, made, receive))

        def check(hypotheses: list[Hypothesis]) -> None:
            if self._has_sentences(hypotheses[0], len(sentences), resolved):
                on_done(hypotheses)
            else:
                search_next([])

        return _if_found(on_done, check)

    def _has_sentences(self, found: Hypothesis, number: int, resolved: ResolvedRequest) -> bool:
        """Return whether a target ends, and has a number of sentences or more."""
        sentences = split_text(self._decode(found.ids), resolved.pair.target).segments
        return found.finish_reason is not FinishReason.LENGTH and len(sentences) >= number

    def _then_decode_forced(
        self, segment: SegmentInput, resolved: ResolvedRequest, made: Made, receive: Receive
    ) -> OnDone:
        """Return a receiver of hypotheses that adds what is needed of the best one's attention and tokens."""
        options = resolved.options
        on_done = receive(segment)
        if not (options.return_tokens or _needs_attention(segment, options)):
            return on_done
        kind = SearchKind(1, method=Method.SCORE if options.return_tokens else Method.ALIGN)

        def decode_best(hypotheses: list[Hypothesis]) -> None:
            best, *others = hypotheses
            if best.reading is not None:
                on_done(hypotheses)
                return
            source = self._source(segment, resolved)
            forced = replace(source, target_ids=best.ids, num_hypotheses=1, sampling=None, seed=0)

            def add_reading(decoded: list[Hypothesis]) -> None:
                on_done([replace(best, reading=decoded[0].reading), *others])

            receive = _if_found(on_done, add_reading)
            self._continue(*self._find_or_request(forced, kind, resolved, made, receive))

        return _if_found(on_done, decode_best)


def _if_found(on_done: OnDone, then: Callable[[list[Hypothesis]], object]) -> OnDone:
    """Return a receiver that hands hypotheses to `then`, and an error to `on_done`."""
    return lambda outcome: on_done(outcome) if isinstance(outcome, Exception) else then(outcome)


def _join_sentences(found: Sequence[Sequence[Hypothesis]], length_penalty: float) -> list[Hypothesis]:
    """Return the hypotheses of consecutive sentences together, rank by rank."""
    joined: list[Hypothesis] = []
    for rank in range(max(map(len, found))):
        parts = [each[min(rank, len(each) - 1)] for each in found]
        joined.append(
            Hypothesis(
                tuple(chain.from_iterable(part.ids for part in parts)),
                sum(part.logprob for part in parts),
                sum(part.num_tokens for part in parts),
                text_score(parts, length_penalty),
                joint_finish_reason([part.finish_reason for part in parts]),
            )
        )
    return joined


def _needs_attention(segment: SegmentInput, options: SearchOptions) -> bool:
    """Return whether words must be aligned: for links, or to write some of them in capitals."""
    return options.return_alignment or (segment.read is not None and bool(segment.read.words))


def _mean_logprob(found: Sequence[Hypothesis]) -> float:
    return normalised_score(found[0].logprob, found[0].num_tokens, length_penalty=1.0)
