"""A loaded bundle that translates text."""

import reprlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from operator import call, itemgetter
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Self, TypeVar, overload

from dragoman.argument_types import checks_arguments
from dragoman.bundle import Bundle, open_bundle
from dragoman.bundled import find_bundle
from dragoman.decoding.options import DecodingOptions
from dragoman.errors import InputError, TranslationCancelled
from dragoman.loading import open_reading, open_tokenizers, scheduler_options
from dragoman.pipeline.engine_request import DEFAULT_DECODING, EngineRequest, request_of
from dragoman.pipeline.pacing import pause_of
from dragoman.pipeline.pending_translation import TextOutcome
from dragoman.pipeline.postprocessing import Postprocessor
from dragoman.pipeline.preparation import Preparer
from dragoman.pipeline.resolution import RequestResolver
from dragoman.pipeline.segment_cache import SegmentCache
from dragoman.pipeline.segment_requests import Engine
from dragoman.pipeline.submission import TextSubmitter
from dragoman.pipeline.terminology import TermModel
from dragoman.providers import Kernels, Provider, SessionOptions
from dragoman.reading.reader import Reader
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics, QueueState
from dragoman.scheduling.scheduler import Scheduler, SchedulerOptions
from dragoman.search_model import SearchModel
from dragoman.text.alphabet import Spelling
from dragoman.types import Hypothesis, Pair, Priority, SegmentTranslation, Span, Translation

DEFAULT_REQUEST = EngineRequest()
JOB_REQUEST = EngineRequest(priority=Priority.JOB)
SCORING = DecodingOptions(length_penalty=1.0, return_alignment=True, return_tokens=True)
READ_AHEAD_TEXTS = 512
"""Texts that `translate_many` has in progress at most, so that sources of like length meet in a batch."""
READ_TOGETHER = 128
"""Maximum number of texts that are read, encoded and answered together."""
READ_PARTS = 4
"""Parts of the texts in progress, which are answered one after the other, so that others go on meanwhile."""
SHORT_CHARACTERS = 300
"""Maximum characters of a submitted text whose translation is made on the engine's thread: to hand it to
another one would take longer."""
CANCEL_POLL_S = 0.4
"""Seconds between two calls of `is_cancelled` while a text is awaited."""
QUEUE_SIZE = 4096
"""Segments of submitted texts that may wait."""

Result = TypeVar("Result")
Work = Callable[[], None]


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
        kernels: Kernels = "auto",
    ) -> None:
        self.manifest = bundle.manifest
        source_tokenizer, target_tokenizer = open_tokenizers(bundle)
        reader = Reader(source_tokenizer, open_reading(bundle))
        model = SearchModel(bundle, session, target_tokenizer, kernels)
        self.kernels = model.kernels
        """Name of what runs the graphs: `onnxruntime`, or native kernels, such as `avx2`."""
        self.why_not_native = model.why_not_native
        """Why native kernels do not run them; "" if they do, or were not to."""
        capacity = model.capacity(scheduling.replicas)
        if capacity is not None:
            scheduling = replace(scheduling, capacity=capacity)
        self._scheduler = Scheduler(model.encode, model.open_lane, scheduling)
        self._spelling = Spelling(source_tokenizer, target_tokenizer)
        controls = self.manifest.controls
        term_model = TermModel(reader, target_tokenizer, None if controls is None else controls.terms)
        self._resolver = RequestResolver(self.manifest, target_tokenizer, term_model)
        self._submitter = TextSubmitter(
            Engine(
                Preparer(self.manifest.languages, self.manifest.limits, reader),
                segment_cache,
                self._scheduler.enqueue,
                lambda ids: target_tokenizer.decode([ids])[0],
                model.has_shortlist,
            ),
            Postprocessor(reader, target_tokenizer, self.manifest.alignment, self.manifest.confidence),
            target_tokenizer,
            self._scheduler.cancel,
        )

    @classmethod
    @checks_arguments
    def open(  # noqa: PLR0913 -- options, all by name
        cls,
        path: str | Path,
        *,
        replicas: int | None = None,
        threads: int = 1,
        queue_size: int = QUEUE_SIZE,
        providers: Sequence[Provider] = ("cpu",),
        kernels: Kernels = "auto",
        segment_cache_size: int = 0,
        engine_metrics: EngineMetrics = NO_METRICS,
        weights_dir: Path | None = None,
    ) -> "Translator":
        """Verify and load a bundle.

        Args:
            path: the bundle's folder, or the name of a bundled model, such as `de-en`.
            replicas: searches that run at the same time, each over many sources; they share the bundle's
                memory. None for as many as there are CPUs for their threads, on a GPU for one.
            threads: cores that one replica uses. More replicas give more than more threads.
            queue_size: segments of submitted texts that may wait.
            providers: onnxruntime execution providers, most preferred first.
            kernels: `onnxruntime`, `native`, or `auto` for native ones wherever they can run
                the bundle: int8, on a CPU, with one thread per replica. `native` also runs fp16 on a GPU.
            segment_cache_size: number of recent segments whose translations are cached.
            engine_metrics: notified of what the engine does.
            weights_dir: folder of files with the weights of native kernels, which processes share; it must
                be writable for trusted users only. None for memory of this process.

        Raises:
            BundleError: naming every file or field at fault.
            KernelsError: `native` kernels cannot run the bundle here.
            ProviderError: a provider cannot be used; no other takes its place.
        """
        session = SessionOptions(threads, tuple(providers), weights_dir=weights_dir)
        scheduling = replace(scheduler_options(session, replicas, queue_size), engine_metrics=engine_metrics)
        return cls(
            open_bundle(find_bundle(path)),
            session,
            scheduling,
            SegmentCache(segment_cache_size, engine_metrics),
            kernels,
        )

    def queue(self) -> QueueState:
        """Return how many segments wait and run now."""
        return self._scheduler.queue()

    @checks_arguments
    def unknown_spans(self, text: str) -> tuple[Span, ...]:
        """Return words of a text that the vocabulary cannot spell; see `Alphabet.unknown_spans`."""
        return self._spelling.unknown_spans(text)

    @checks_arguments
    def can_spell(self, target: str) -> bool:
        """Return whether the target's vocabulary can spell a text."""
        return self._spelling.can_spell(target)

    @property
    def is_closed(self) -> bool:
        """Return whether it was closed: by `close`, or by a fault of the engine."""
        return self._scheduler.is_closed

    def close(self) -> None:
        """End the threads; unfinished work fails with `TranslatorClosed`. Callbacks must not call this."""
        self._scheduler.close()
        self._submitter.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @overload
    def translate(
        self, text: str, options: DecodingOptions = DEFAULT_DECODING, *, pair: Pair | None = None
    ) -> Translation: ...
    @overload
    def translate(
        self, text: list[str], options: DecodingOptions = DEFAULT_DECODING, *, pair: Pair | None = None
    ) -> list[Translation | InputError]: ...
    @checks_arguments
    def translate(
        self, text: str | list[str], options: DecodingOptions = DEFAULT_DECODING, *, pair: Pair | None = None
    ) -> Translation | list[Translation | InputError]:
        """Translate one text, or several together, and wait for them.

        Args:
            text: a text of any length, or a list of them.
            options: options of the search.
            pair: languages; None where the bundle has only one pair.

        Returns:
            The translation; for a list, each text's translation, or the error that names it.

        Raises:
            InputError: for a single text that cannot be translated, or options beyond the model's limits.
            UnsupportedPair: the bundle does not serve the pair, or serves several and none was named.
        """
        if not isinstance(text, str):
            return list(self.translate_many(text, EngineRequest(options, pair), READ_PARTS * len(text)))
        resolved = self._resolver.resolve(EngineRequest(options, pair))
        work = SimpleQueue[Work]()
        future: Future[Translation] = self._submitter.submit(
            [text], None, resolved, self._scheduler.enqueue, itemgetter(0), work.put
        )
        try:
            return _run_until_done(future, work)
        finally:  # an interrupt
            future.cancel()

    @checks_arguments
    def translate_many(
        self,
        texts: Iterable[str],
        request: EngineRequest | DecodingOptions = JOB_REQUEST,
        read_ahead: int = READ_AHEAD_TEXTS,
    ) -> Iterator[Translation | InputError]:
        """Translate lazily and in order, with at most `read_ahead` texts in progress.

        Args:
            texts: read while the translations are.
            request: the request, or its options alone.
            read_ahead: maximum number of texts in progress.

        Yields:
            Per text its translation, or the error that names it by its position.

        Raises:
            TranslationCancelled: `request.is_cancelled` returned true.
        """
        request = request_of(request, JOB_REQUEST)
        resolved = self._resolver.resolve(request)
        in_progress: deque[tuple[int, Future[list[TextOutcome]]]] = deque()
        remaining, num_read, num_done = iter(texts), 0, 0
        most, work = max(1, min(read_ahead // READ_PARTS, READ_TOGETHER)), SimpleQueue[Work]()
        try:
            while some := list(islice(remaining, most)):
                _check_texts(some, num_read)
                pause = pause_of(max(map(len, some)), request.is_cancelled)
                future = self._submitter.submit(
                    some, num_read, resolved, self._scheduler.enqueue, list, work.put, pause
                )
                in_progress.append((len(some), future))
                num_read += len(some)
                while num_read - num_done > read_ahead - most:
                    num_done += in_progress[0][0]
                    yield from _outcomes(in_progress[0][1], work, request.is_cancelled)
                    in_progress.popleft()
            for _, future in in_progress:
                yield from _outcomes(future, work, request.is_cancelled)
        finally:  # the caller may stop before the end
            for _, future in in_progress:
                future.cancel()

    @checks_arguments
    def submit(
        self, text: str, request: EngineRequest | DecodingOptions = DEFAULT_REQUEST
    ) -> Future[Translation]:
        """Begin to translate a text. This call takes about 1 ms per kilobyte of text, for its preparation.

        Args:
            text: a text of any length.
            request: the request, or its options alone.

        Returns:
            The future translation. It may be cancelled until it is done; its work then ends within one step.
            It fails with `DeadlineExceeded` or `TranslatorClosed`, or with what a callback raised.

        Raises:
            InputError: the text cannot be translated, or an option is beyond the model's limits.
            UnsupportedPair: the bundle does not serve the pair, or serves several and none was named.
            Overloaded: too much is waiting already.
            TranslatorClosed: the translator is closed.
        """
        resolved = self._resolver.resolve(request_of(request, DEFAULT_REQUEST))
        run, pause = call if len(text) <= SHORT_CHARACTERS else None, pause_of(len(text))
        return self._submitter.submit(
            [text], None, resolved, self._scheduler.submit, itemgetter(0), run, pause
        )

    @checks_arguments
    def score(
        self, source: str, target: str, request: EngineRequest = DEFAULT_REQUEST
    ) -> Future[SegmentTranslation]:
        """Begin to score a given target: how probable the model finds it, token by token.

        Args:
            source: one segment; it is not cut.
            target: its translation, by whoever made it.
            request: its options are not used.

        Returns:
            The target with its score (normalised by its length), tokens and links. May be cancelled.

        Raises:
            InputError: one of them is beyond the model's limits, or cannot be read.
            UnsupportedPair: the bundle does not serve the pair, or serves several and none was named.
            Overloaded: too much is waiting already.
            TranslatorClosed: the translator is closed.
        """
        resolved = self._resolver.resolve(replace(request, options=SCORING))
        target_ids = self._resolver.target_ids(target, "target")
        return self._submitter.score(source, target, target_ids, resolved, self._scheduler.submit)

    @checks_arguments
    def search(
        self,
        sources: Sequence[Sequence[int]],
        options: DecodingOptions = DEFAULT_DECODING,
        *,
        pair: Pair | None = None,
    ) -> list[list[Hypothesis]]:
        """Search for targets of sources that are encoded already, without any text.

        Args:
            sources: ids of segments, with the ids that their languages put around them.
            options: options of the search.
            pair: languages; None where the bundle has only one pair.

        Returns:
            Per source its hypotheses, best first.
        """
        resolved = self._resolver.resolve(EngineRequest(options, pair, Priority.JOB))
        future = self._submitter.search(sources, resolved, self._scheduler.enqueue)
        try:
            return future.result()
        finally:  # an interrupt
            future.cancel()


def _check_texts(texts: Iterable[object], first: int) -> None:
    """Raise TypeError that names the position of a text that is no string."""
    for position, text in enumerate(texts, first):
        if not isinstance(text, str):
            raise TypeError(f"texts[{position}]: {type(text).__name__} {reprlib.repr(text)} is not str")


def _run_until_done(
    future: Future[Result], work: SimpleQueue[Work], is_cancelled: Callable[[], bool] | None = None
) -> Result:
    """Make translations on this thread until a future is done; return its result."""
    while not future.done():
        if is_cancelled is not None and is_cancelled():
            raise TranslationCancelled
        with suppress(Empty):
            work.get(timeout=None if is_cancelled is None else CANCEL_POLL_S)()
    return future.result()


def _outcomes(
    future: Future[list[TextOutcome]], work: SimpleQueue[Work], is_cancelled: Callable[[], bool] | None
) -> Iterator[Translation | InputError]:
    """Yield what texts that are done together have become; raise what is no error of a text."""
    for outcome in _run_until_done(future, work, is_cancelled):
        if is_cancelled is not None and is_cancelled():
            raise TranslationCancelled
        if isinstance(outcome, Exception) and not isinstance(outcome, InputError):
            raise outcome
        yield outcome
