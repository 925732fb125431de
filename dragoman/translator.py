"""The whole path of a text, on one page."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, overload

from dragoman.bundle import Bundle, open_bundle
from dragoman.decoding.lanes import open_lane
from dragoman.decoding.loop import AnyLane
from dragoman.decoding.options import DecodingOptions
from dragoman.decoding.strategy import TargetVocabulary
from dragoman.errors import InputError
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import CrossKV, Encoder
from dragoman.graphs.process_memory import compacted_memory
from dragoman.graphs.session import SessionOptions
from dragoman.loading import open_shortlist, open_tokenizers, scheduler_options
from dragoman.pipeline.assembly import rejoin
from dragoman.pipeline.pacing import LARGE_CHARACTERS, Pacer, never_pause
from dragoman.pipeline.pending_translation import PendingTranslation, resolve
from dragoman.pipeline.postprocessing import Postprocessor
from dragoman.pipeline.preparation import PreparedText, Preparer, SegmentInput
from dragoman.pipeline.resolution import RequestResolver, ResolvedRequest, check_one_row
from dragoman.pipeline.segment_cache import SegmentCache
from dragoman.pipeline.segment_requests import SegmentRequestFactory
from dragoman.providers import Provider
from dragoman.scheduling.fair_queue import Flow
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics, QueueState
from dragoman.scheduling.replica import Outcome, SegmentRequest
from dragoman.scheduling.scheduler import OutcomeCollector, Scheduler, SchedulerOptions
from dragoman.types import (
    FinishReason,
    Hypothesis,
    Pair,
    Priority,
    SearchKind,
    SegmentTranslation,
    Translation,
)

DEFAULTS = DecodingOptions()
READ_AHEAD_TEXTS = 512
"""Texts that `translate_many` has under way at most, so that sources of like length meet in a batch."""
QUEUE_SIZE = 4096
"""Segments of submitted texts that may wait."""


@dataclass(frozen=True, slots=True)
class _Search:
    """Sources under way for a caller who waits."""

    request: ResolvedRequest
    gathering: OutcomeCollector


class Translator:
    """A loaded bundle that translates. Safe to use from several threads.

    A context manager: `close` ends its threads, which otherwise end with the translator or the process.
    """

    def __init__(
        self,
        bundle: Bundle,
        session: SessionOptions,
        scheduling: SchedulerOptions,
        segment_cache: SegmentCache,
    ) -> None:
        self.manifest = bundle.manifest
        source_tokenizer, self._target_tokenizer = open_tokenizers(bundle)
        self._preparer = Preparer(self.manifest.languages, self.manifest.limits, source_tokenizer)
        with compacted_memory():
            encoder, decoder = Encoder(bundle, session), Decoder(bundle, session)
        self._resolver = RequestResolver(self.manifest, self._target_tokenizer)
        alignment = self.manifest.alignment
        self._postprocessor = Postprocessor(
            self._preparer, source_tokenizer, self._target_tokenizer, alignment
        )
        target = TargetVocabulary(
            self.manifest.special_ids.eos,
            self.manifest.sizes.target_vocab,
            self._target_tokenizer.byte_ids,
        )
        self._shortlist = open_shortlist(bundle)

        def lane_of(kind: SearchKind) -> AnyLane[CrossKV]:
            return open_lane(kind, decoder.open_steps(kind), target)

        def encode(sources: Sequence[Sequence[int]]) -> CrossKV:
            cross = encoder.run(sources)
            if self._shortlist is not None:
                cross.candidates = [self._shortlist.candidates(source) for source in sources]
            return cross

        self._scheduler = Scheduler(encode, lane_of, scheduling)
        has_shortlist = self._shortlist is not None
        self._segment_requests = SegmentRequestFactory(
            self._preparer, segment_cache, self._scheduler.go_on, has_shortlist
        )

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        replicas: int | None = None,
        threads: int = 1,
        queue_size: int = QUEUE_SIZE,
        providers: Sequence[Provider] = ("cpu",),
        segment_cache_size: int = 0,
        engine_metrics: EngineMetrics = NO_METRICS,
    ) -> "Translator":
        """Verify and load a bundle.

        Args:
            path: the bundle's folder.
            replicas: searches that run at the same time, each over many sources; they share the bundle's
                memory. None for as many as there are CPUs for their threads, on a GPU for one.
            threads: cores that one replica uses. More replicas give more than more threads.
            queue_size: segments of submitted texts that may wait.
            providers: what the graphs run on, the most wanted first.
            segment_cache_size: segments translated last whose translations are kept in memory, and not
                searched for again.
            engine_metrics: notified of what the engine does.

        Raises:
            BundleError: naming every file or field at fault.
            ProviderError: a provider cannot be used; no other takes its place.
        """
        session = SessionOptions(threads, tuple(providers))
        scheduling = replace(scheduler_options(session, replicas, queue_size), engine_metrics=engine_metrics)
        return cls(
            open_bundle(Path(path)), session, scheduling, SegmentCache(segment_cache_size, engine_metrics)
        )

    def queue(self) -> QueueState:
        """How many segments wait and run now."""
        return self._scheduler.queue()

    @property
    def is_closed(self) -> bool:
        """Whether it translates no more: by `close`, or by a fault of the engine's own."""
        return self._scheduler.is_closed

    def close(self) -> None:
        """End the threads; what is under way fails with `TranslatorClosed`. Not for callbacks to call."""
        self._scheduler.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @overload
    def translate(
        self, text: str, options: DecodingOptions = DEFAULTS, *, pair: Pair | None = None
    ) -> Translation: ...
    @overload
    def translate(
        self, text: list[str], options: DecodingOptions = DEFAULTS, *, pair: Pair | None = None
    ) -> list[Translation | InputError]: ...
    def translate(
        self, text: str | list[str], options: DecodingOptions = DEFAULTS, *, pair: Pair | None = None
    ) -> Translation | list[Translation | InputError]:
        """Translate one text, or several together.

        Args:
            text: a text of any length, or a list of them.
            options: wishes for the search.
            pair: languages; None where the bundle has only one pair.

        Returns:
            The translation; for a list, each text's translation, or the error that names it.

        Raises:
            InputError: for a single text that cannot be translated, or options beyond the model's limits.
            UnsupportedPair: the bundle does not serve the pair, or serves several and none was named.
        """
        request = self._resolver.resolve(options, pair, Priority.INTERACTIVE)
        if not isinstance(text, str):
            return self._translate_window(text, request, is_single=False)
        (outcome,) = self._translate_window([text], request, is_single=True)
        if isinstance(outcome, InputError):
            raise outcome
        return outcome

    def translate_many(
        self,
        texts: Iterable[str],
        options: DecodingOptions = DEFAULTS,
        read_ahead: int = READ_AHEAD_TEXTS,
        *,
        pair: Pair | None = None,
        cache_partition: str = "",
    ) -> Iterator[Translation | InputError]:
        """Translate lazily and in order, a steady stream with at most `read_ahead` texts under way.

        Known segments are those of the `cache_partition`; see `SegmentCache`.

        Yields:
            Per text its translation, or the error that names it by its position.
        """
        request = self._resolver.resolve(options, pair, Priority.JOB, cache_partition=cache_partition)
        under_way: deque[tuple[PreparedText | InputError, _Search]] = deque()
        try:
            for item, text in enumerate(texts):
                prepared = self._preparer.prepare(text, request.pair, item, request.options.splitting)
                sources = prepared.to_search if isinstance(prepared, PreparedText) else []
                under_way.append((prepared, self._begin(sources, request.again())))
                if len(under_way) >= read_ahead:
                    yield self._next_outcome(under_way)
            while under_way:
                yield self._next_outcome(under_way)
        finally:  # the caller may stop before the end
            self._scheduler.cancel(
                segment_request
                for _, search in under_way
                for segment_request in search.request.segment_requests
            )

    def search(
        self,
        sources: Sequence[Sequence[int]],
        options: DecodingOptions = DEFAULTS,
        *,
        pair: Pair | None = None,
    ) -> list[list[Hypothesis]]:
        """Ids to hypotheses: the part between the tokenizers.

        Args:
            sources: ids of segments, with all that their languages put around them.
            options: wishes for the search.
            pair: languages; None where the bundle has only one pair.

        Returns:
            Per source its hypotheses, best first.
        """
        to_search = [SegmentInput(number, list(source)) for number, source in enumerate(sources)]
        return self._results(self._begin(to_search, self._resolver.resolve(options, pair, Priority.JOB)))

    def submit(  # noqa: PLR0913 -- a text's own wishes, all named
        self,
        text: str,
        options: DecodingOptions = DEFAULTS,
        *,
        pair: Pair | None = None,
        priority: Priority = Priority.INTERACTIVE,
        timeout_s: float | None = None,
        flow: Flow | None = None,
        on_segment: Callable[[SegmentTranslation], object] | None = None,
        on_token: Callable[[int, str], object] | None = None,
        cache_partition: str = "",
    ) -> Future[Translation]:
        """Begin to translate a text. What takes time here is its preparation: about 1 ms a kilobyte.

        Callbacks run on a thread of the engine: they must be quick, and must not wait for this translator.
        What they raise fails this text alone.

        Args:
            text: a text of any length.
            options: wishes for the search.
            pair: languages; None where the bundle has only one pair.
            priority: who goes first when more waits than can run.
            timeout_s: seconds from now after which the text is given up.
            flow: the request that it is part of, where several texts share one; None for one of its own.
            on_segment: called with every segment as soon as it and all before it are done.
            on_token: called after every step with a segment's position and its text so far, which replaces
                what was told before; segments take turns. Greedy search only, as a beam changes its mind.
            cache_partition: the caller finds known segments of this partition only; see `SegmentCache`.

        Returns:
            The translation to come. It may be cancelled until it is done; its work then ends within one
            step. It fails with `DeadlineExceeded` or `TranslatorClosed`, or with what a callback raised.

        Raises:
            InputError: the text cannot be translated, or an option is beyond the model's limits.
            UnsupportedPair: the bundle does not serve the pair, or serves several and none was named.
            Overloaded: too much is waiting already.
            TranslatorClosed: closed before.
        """
        request = self._resolver.resolve(options, pair, priority, timeout_s, cache_partition).part_of(flow)
        if on_token is not None:
            check_one_row(request.options)
        pause = Pacer().pause if len(text) >= LARGE_CHARACTERS else never_pause
        prepared = self._preparer.prepare(text, request.pair, None, request.options.splitting, pause)
        if isinstance(prepared, InputError):
            raise prepared
        make_piece = partial(self._postprocessor.piece, prepared, options=request.options)
        pending = PendingTranslation(prepared.document, request.options, make_piece, on_segment)
        segment_requests: list[SegmentRequest] = []
        known: list[Callable[[], None]] = []
        for index, source in enumerate(prepared.sources):
            pause()
            if isinstance(source, FinishReason):
                known.append(partial(pending.add, index, ()))
                continue
            segment_request, found = self._segment_requests.make(source, request, pending.receiver(index))
            segment_request.on_step = None if on_token is None else self._text_so_far(index, on_token)
            if found is None or on_token is not None:
                segment_requests.append(segment_request)
            else:
                known.append(partial(segment_request.on_done, found))
        self._scheduler.submit(segment_requests)
        for tell in known:
            tell()
        pending.resolve_if_complete()
        # Cancelled, or failed in one segment: the others are of no use.
        pending.future.add_done_callback(lambda _: self._release(request))
        return pending.future

    def score(
        self,
        source: str,
        target: str,
        *,
        pair: Pair | None = None,
        priority: Priority = Priority.INTERACTIVE,
        timeout_s: float | None = None,
        flow: Flow | None = None,
        cache_partition: str = "",
    ) -> Future[SegmentTranslation]:
        """Begin to read a given target: how probable the model finds it, token by token.

        Args:
            source: one segment; it is not cut.
            target: its translation, by whoever made it.
            pair: languages; None where the bundle has only one pair.
            priority: who goes first when more waits than can run.
            timeout_s: seconds from now after which it is given up.
            flow: as for `submit`.
            cache_partition: the caller finds known segments of this partition only; see `SegmentCache`.

        Returns:
            The target to come, with its score (normalised by its length), tokens and links. It may be
            cancelled.

        Raises:
            InputError: one of them is beyond the model's limits, or cannot be read.
            UnsupportedPair: the bundle does not serve the pair, or serves several and none was named.
            Overloaded: too much is waiting already.
            TranslatorClosed: closed before.
        """
        options = DecodingOptions(length_penalty=1.0, return_alignment=True, return_tokens=True)
        request = self._resolver.resolve(options, pair, priority, timeout_s, cache_partition).part_of(flow)
        ids = self._preparer.prepare_one(source, request.pair, "source")
        given = self._resolver.target_ids(target, "target")
        future: Future[SegmentTranslation] = Future()

        def receive(outcome: Outcome) -> None:
            if isinstance(outcome, Exception):
                resolve(future, outcome)
            else:
                resolve(future, self._postprocessor.scored((source, target), ids, outcome[0], request.pair))

        segment_request = self._segment_requests.scoring(ids, given, request, receive)
        self._scheduler.submit([segment_request])
        future.add_done_callback(lambda _: self._release(request))
        return future

    def _release(self, request: ResolvedRequest) -> None:
        """Cancel what is not done yet, and break the reference cycle of a text and its segments.

        The collector of cycles stops all threads, for a tenth of a second where many large texts wait.
        """
        self._scheduler.cancel(request.segment_requests)
        request.segment_requests.clear()

    def _translate_window(
        self, texts: Sequence[str], request: ResolvedRequest, *, is_single: bool
    ) -> list[Translation | InputError]:
        items = [None] if is_single else range(len(texts))
        prepare = partial(self._preparer.prepare, pair=request.pair, splitting=request.options.splitting)
        prepared = [prepare(text, item=item) for item, text in zip(items, texts, strict=True)]
        sources = [source for text in prepared if isinstance(text, PreparedText) for source in text.to_search]
        hypotheses = iter(self._results(self._begin(sources, request)))
        return [
            text if isinstance(text, InputError) else self._finish(text, hypotheses, request)
            for text in prepared
        ]

    def _next_outcome(
        self, under_way: "deque[tuple[PreparedText | InputError, _Search]]"
    ) -> Translation | InputError:
        text, search = under_way[0]
        hypotheses = iter(self._results(search))
        under_way.popleft()
        return text if isinstance(text, InputError) else self._finish(text, hypotheses, search.request)

    def _begin(self, sources: Sequence[SegmentInput], request: ResolvedRequest) -> _Search:
        """Let sources wait for a replica."""
        search = _Search(request, OutcomeCollector(len(sources)))
        waiting: list[SegmentRequest] = []
        for index, source in enumerate(sources):
            segment_request, found = self._segment_requests.make(
                source, request, search.gathering.receiver(index)
            )
            if found is None:
                waiting.append(segment_request)
            else:
                segment_request.on_done(found)
        try:
            self._scheduler.feed(waiting)
        except BaseException:  # a list is fed while its beginning is searched for
            self._scheduler.cancel(request.segment_requests)
            raise
        return search

    def _results(self, search: _Search) -> list[list[Hypothesis]]:
        """Wait for hypotheses."""
        try:
            return search.gathering.results()
        except BaseException:  # an interrupt, or an error in one: the others are of no use
            self._scheduler.cancel(search.request.segment_requests)
            raise

    def _text_so_far(
        self, segment: int, on_token: Callable[[int, str], object]
    ) -> Callable[[list[int]], None]:
        """Half a character, of which more bytes are to come, is not shown."""

        def tell(ids: list[int]) -> None:
            (text,) = self._target_tokenizer.decode([ids])
            on_token(segment, text)

        return tell

    def _finish(
        self, text: PreparedText, hypotheses: Iterator[list[Hypothesis]], request: ResolvedRequest
    ) -> Translation:
        """Hypotheses to text."""
        pieces = [
            self._postprocessor.piece(
                text, index, [] if isinstance(source, FinishReason) else next(hypotheses), request.options
            )
            for index, source in enumerate(text.sources)
        ]
        return rejoin(text.document, pieces, request.options)
