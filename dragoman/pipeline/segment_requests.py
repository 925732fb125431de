"""Make the scheduler's requests for a text's segments."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from threading import Lock

from dragoman.decoding.constrained import constrained_beam_size
from dragoman.decoding.options import SearchOptions
from dragoman.decoding.sampling import segment_seed
from dragoman.decoding.scoring import normalised_score, text_score
from dragoman.pipeline.assembly import joint_finish_reason
from dragoman.pipeline.preparation import Preparer
from dragoman.pipeline.resolution import ResolvedRequest
from dragoman.pipeline.segment_cache import SegmentCache
from dragoman.pipeline.segment_input import SegmentInput
from dragoman.pipeline.terminology import SegmentTerms
from dragoman.scheduling.segment_request import Outcome, SegmentRequest
from dragoman.text.segmentation import segment as split_text
from dragoman.types import FinishReason, Hypothesis, Method, SearchKind

OnDone = Callable[[Outcome], object]
Receive = Callable[[SegmentInput], OnDone]
"""Returns what receives the outcome of an input."""
Begin = Callable[[SegmentInput, OnDone], SegmentRequest]
"""Makes the request for one reading of a segment, and looks for its hypotheses in the cache."""
Enqueue = Callable[[Sequence[SegmentRequest]], None]


@dataclass(frozen=True, slots=True)
class Engine:
    """Searches for the segments of all requests."""

    preparer: Preparer
    """Has the limits, and what targets begin with."""
    segment_cache: SegmentCache
    """Holds hypotheses of earlier requests."""
    enqueue: Enqueue
    """Schedules the search or forced decoding that follows a search, however full the queue is."""
    decode: Callable[[Sequence[int]], str]
    """Returns the text of a target's ids."""
    has_shortlist: bool
    """Whether the bundle has one."""


class SegmentRequests:
    """Makes a search for each segment of a request, then forced decoding for what it did not return.

    Safe to use from several threads.
    """

    def __init__(self, engine: Engine, resolved: ResolvedRequest) -> None:
        self.made: list[SegmentRequest] = []
        """All requests, so that they can be cancelled."""
        self._engine = engine
        self._resolved = resolved
        self._options = resolved.options
        self._kind = resolved.options.kind(engine.has_shortlist)
        self._begin = engine.preparer.begin(resolved.pair)

    def search(self, segment: SegmentInput, receive: Receive) -> list[SegmentRequest]:
        """Make the requests to search for a segment's translation, by each of its readings.

        The hypotheses are those of the reading that the model finds more probable.
        """
        return self._begin_readings(
            segment, self._search, lambda one: self._then_decode_forced(one, receive(one))
        )

    def search_now(self, segment: SegmentInput, receive: Receive) -> None:
        """Search for another translation of a segment, however full the queue is."""
        begin_all(self.search(segment, receive), self._engine.enqueue)

    def score(
        self, segment: SegmentInput, target_ids: tuple[Sequence[int], Sequence[int]], receive: Receive
    ) -> list[SegmentRequest]:
        """Make the requests to score a given target, by each reading of its segment that `search` has.

        Args:
            segment: the source.
            target_ids: the target in the spelling of the first reading, and as it is written.
            receive: gets the reading by which the target is more probable, and its score.

        Raises:
            InputError: it is longer than the model's targets may be.
        """
        limits = self._engine.preparer.most_target_limits(self._resolved.pair)
        kind = SearchKind(1, method=Method.SCORE)

        def begin(one: SegmentInput, on_done: OnDone) -> SegmentRequest:
            ids = target_ids[one is not segment]
            request = replace(self._request(one, kind), limits=limits, target_ids=tuple(ids), on_done=on_done)
            self.made.append(request)
            return request

        return self._begin_readings(segment, begin, receive)

    def _begin_readings(self, segment: SegmentInput, begin: Begin, receive: Receive) -> list[SegmentRequest]:
        """Begin with the readings of a segment, at the same time; the better one is received."""
        as_written = segment.as_written
        if as_written is None:
            return [begin(segment, receive(segment))]
        readings, found, lock = (segment, as_written), dict[int, Outcome](), Lock()

        def take(number: int, outcome: Outcome) -> None:
            with lock:
                found[number] = outcome
                if len(found) < len(readings):
                    return
            best = _better_reading(segment, found[0], found[1])
            receive(readings[best])(found[best])

        return [begin(reading, partial(take, number)) for number, reading in enumerate(readings)]

    def _search(self, segment: SegmentInput, on_done: OnDone) -> SegmentRequest:
        """Make the request for one reading of a segment; see `search`."""
        if segment.after_context is not None and self._may_cut(segment):
            both = self._request(segment.after_context, self._kind)
            return self._find(both, self._then_cut_context(segment, on_done))
        request = self._request(segment, self._kind)
        if segment.sentences:
            on_done = self._then_search_sentences(segment.sentences, on_done)
        if segment.terms is not None:
            on_done = self._then_require_terms(segment, segment.terms, on_done)
            request.num_hypotheses = self._kind.beam_size  # one of them may have all terms
        return self._find(request, on_done)

    def _find(self, request: SegmentRequest, on_done: OnDone) -> SegmentRequest:
        """Look for a request's hypotheses in the cache, which will have them."""
        cache, partition = self._engine.segment_cache, self._resolved.request.cache_partition
        request.on_done = cache.storing(request, request.kind, on_done, partition)
        self.made.append(request)
        request.cached = cache.find(request, request.kind, partition)
        return request

    def _continue(self, request: SegmentRequest) -> None:
        """Schedule a request that follows another one, unless its hypotheses are cached."""
        begin_all([request], self._engine.enqueue)

    def _request(self, segment: SegmentInput, kind: SearchKind) -> SegmentRequest:
        """Make a request, of whose outcome nobody is notified yet."""
        options, sampling, request = self._options, self._options.sampling, self._resolved.request
        prefix = () if segment.number else self._resolved.prefix
        return SegmentRequest(
            ids=segment.ids,
            begin=self._begin,
            limits=self._engine.preparer.target_limits(segment.ids, self._begin, options, len(prefix)),
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
            kind=kind,
            priority=request.priority,
            flow=self._resolved.flow,
            deadline=request.deadline,
        )

    def _then_require_terms(self, segment: SegmentInput, terms: SegmentTerms, on_done: OnDone) -> OnDone:
        """Return a receiver of hypotheses that passes on those with all terms, or searches for one."""
        beam_size = constrained_beam_size(
            self._kind.beam_size, len(terms.matches), is_annotated=segment.spans is not None
        )

        def require(hypotheses: list[Hypothesis]) -> None:
            complete = [one for one in hypotheses if terms.are_met(self._engine.decode(one.ids))]
            if complete:
                on_done(complete[: self._options.num_hypotheses])
                return
            request = self._request(segment, SearchKind(beam_size, method=Method.CONSTRAINED))
            request.constraints = terms.constraints
            self._continue(self._find(request, on_done))

        return _if_found(on_done, require)

    def _then_search_sentences(self, sentences: Sequence[SegmentInput], on_done: OnDone) -> OnDone:
        """Return a receiver of hypotheses of several sentences, which searches for each if one is lost."""

        def search_next(found: Sequence[list[Hypothesis]]) -> None:
            if len(found) == len(sentences):
                on_done(_join_sentences(found, self._options.length_penalty))
                return
            receive = _if_found(on_done, lambda hypotheses: search_next([*found, hypotheses]))
            self._continue(self._search(sentences[len(found)], receive))

        def check(hypotheses: list[Hypothesis]) -> None:
            if self._has_sentences(hypotheses[0], len(sentences)):
                on_done(hypotheses)
            else:
                search_next([])

        return _if_found(on_done, check)

    def _then_cut_context(self, segment: SegmentInput, on_done: OnDone) -> OnDone:
        """Return a receiver of hypotheses of a segment and the sentence before it, which passes on its own.

        Where one of them has other than as many sentences, the segment is searched for alone.
        """
        num_sentences = 1 + max(1, len(segment.sentences))

        def cut(hypotheses: list[Hypothesis]) -> None:
            own = [self._without_first_sentence(one, num_sentences) for one in hypotheses]
            found = [one for one in own if one is not None]
            if len(found) == len(hypotheses):
                on_done(found)
            else:
                self._continue(self._search(segment._replace(after_context=None), on_done))

        return _if_found(on_done, cut)

    def _may_cut(self, segment: SegmentInput) -> bool:
        """Return whether only the text of a segment's hypotheses is needed, and only at the end."""
        is_streamed = self._resolved.request.on_token is not None
        return segment.terms is None and not is_streamed and not self._needs_reading(segment)

    def _without_first_sentence(self, found: Hypothesis, num_sentences: int) -> Hypothesis | None:
        """Return a target without its first sentence, as probable a token; None if it has more or fewer."""
        decode, ids = self._engine.decode, found.ids
        document = split_text(decode(ids), self._resolved.pair.target)
        if found.finish_reason is FinishReason.LENGTH or len(document.segments) != num_sentences:
            return None
        end = len(document.gaps[0] + document.segments[0])
        num_cut = bisect_left(
            range(len(found.ids)), end, key=lambda n: len(self._engine.decode(found.ids[:n]))
        )
        num_tokens = found.num_tokens - num_cut
        logprob = found.logprob * num_tokens / found.num_tokens
        score = normalised_score(logprob, num_tokens, self._options.length_penalty)
        return Hypothesis(ids[num_cut:], logprob, num_tokens, score, found.finish_reason)

    def _has_sentences(self, found: Hypothesis, number: int) -> bool:
        """Return whether a target ends, and has a number of sentences or more."""
        sentences = split_text(self._engine.decode(found.ids), self._resolved.pair.target).segments
        return found.finish_reason is not FinishReason.LENGTH and len(sentences) >= number

    def _needs_reading(self, segment: SegmentInput) -> bool:
        """Return whether attention or tokens of the best hypothesis are needed."""
        return self._options.return_tokens or _needs_attention(segment, self._options)

    def _then_decode_forced(self, segment: SegmentInput, on_done: OnDone) -> OnDone:
        """Return a receiver of hypotheses that adds what is needed of the best one's attention and tokens."""
        options = self._options
        if not self._needs_reading(segment):
            return on_done
        kind = SearchKind(1, method=Method.SCORE if options.return_tokens else Method.ALIGN)

        def decode_best(hypotheses: list[Hypothesis]) -> None:
            best, *others = hypotheses
            if best.reading is not None:
                on_done(hypotheses)
                return
            forced = replace(
                self._request(segment, kind), target_ids=best.ids, num_hypotheses=1, sampling=None, seed=0
            )

            def add_reading(decoded: list[Hypothesis]) -> None:
                on_done([best._replace(reading=decoded[0].reading), *others])

            self._continue(self._find(forced, _if_found(on_done, add_reading)))

        return _if_found(on_done, decode_best)


def begin_all(requests: Sequence[SegmentRequest], enqueue: Enqueue) -> None:
    """Schedule requests, all or none; those whose hypotheses are cached are done."""
    enqueue([request for request in requests if request.cached is None])
    for request in requests:
        if request.cached is not None:
            request.on_done(request.cached)


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


def _better_reading(segment: SegmentInput, found: Outcome, as_written: Outcome) -> int:
    """Return 1 if the segment as it is written has a more probable translation; 0 else, or if it failed."""
    if isinstance(found, Exception) or segment.read is None:
        return 0
    if isinstance(as_written, Exception):
        return 1
    better, other = (one[0].logprob / one[0].num_tokens for one in (found, as_written))
    return not better + segment.read.bonus - other > 0
