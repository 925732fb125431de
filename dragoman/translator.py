"""The whole path of a text, on one page."""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, overload

from dragoman.batching.replica import Outcome, Ticket
from dragoman.batching.scheduler import Gathering, Scheduler, SchedulerOptions
from dragoman.bundle import Bundle, Manifest, open_bundle
from dragoman.decoding.loop import Lane, open_strategy
from dragoman.decoding.options import DecodingOptions
from dragoman.decoding.strategy import Source, SourceLimits, TargetVocabulary
from dragoman.errors import InputError
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import CrossKV, Encoder
from dragoman.graphs.pages import compacted_memory
from dragoman.graphs.session import SessionOptions
from dragoman.opening import open_shortlist, open_tokenizers, scheduler_options
from dragoman.pending import PendingText
from dragoman.providers import Provider
from dragoman.recall import Recall
from dragoman.rejoin import Piece, rejoin
from dragoman.text.segment import Document, has_letters, segment_to_fit
from dragoman.text.validity import check_text
from dragoman.types import Hypothesis, Priority, SearchKind, SegmentTranslation, Translation

DEFAULTS = DecodingOptions()
READ_AHEAD_TEXTS = 512
"""Texts that `translate_many` has under way at most, so that sources of like length meet in a batch."""
QUEUE_SIZE = 4096
"""Segments of submitted texts that may wait."""

Ids = list[int]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A text ready to be searched: its segments' ids, None where a segment is copied."""

    document: Document
    sources: tuple[Ids | None, ...]

    @property
    def to_search(self) -> list[Ids]:
        return [source for source in self.sources if source is not None]


@dataclass(frozen=True, slots=True)
class _Search:
    """Sources under way for a caller who waits."""

    tickets: list[Ticket]
    gathering: Gathering


class Translator:
    """A loaded bundle that translates. Safe to use from several threads.

    A context manager: `close` ends its threads, which otherwise end with the translator or the process.
    """

    def __init__(
        self, bundle: Bundle, session: SessionOptions, scheduling: SchedulerOptions, recall: Recall
    ) -> None:
        self.manifest: Manifest = bundle.manifest
        self._source_tokenizer, self._target_tokenizer = open_tokenizers(bundle)
        with compacted_memory():
            encoder, decoder = Encoder(bundle, session), Decoder(bundle, session)
        special_ids, vocab_size = self.manifest.special_ids, self.manifest.sizes.target_vocab
        target = TargetVocabulary(special_ids.bos, special_ids.eos, vocab_size)

        self._shortlist = open_shortlist(bundle)

        def open_lane(kind: SearchKind) -> Lane[CrossKV]:
            return Lane(kind, decoder.open_steps(kind), open_strategy(kind.beam_size, target))

        def encode(sources: Sequence[Sequence[int]]) -> CrossKV:
            cross = encoder.run(sources)
            if self._shortlist is not None:
                cross.candidates = [self._shortlist.candidates(source) for source in sources]
            return cross

        self._scheduler = Scheduler(encode, open_lane, scheduling)
        self._recall = recall

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        replicas: int | None = None,
        threads: int = 1,
        queue_size: int = QUEUE_SIZE,
        providers: Sequence[Provider] = ("cpu",),
        recall_segments: int = 0,
    ) -> "Translator":
        """Verify and load a bundle.

        Args:
            path: the bundle's folder.
            replicas: searches that run at the same time, each over many sources; they share the bundle's
                memory. None for as many as there are CPUs for their threads, on a GPU for one.
            threads: cores that one replica uses. More replicas give more than more threads.
            queue_size: segments of submitted texts that may wait.
            providers: what the graphs run on, the most wanted first.
            recall_segments: segments, of those translated last, whose translations are kept in memory and not
                searched for again.

        Raises:
            BundleError: naming every file or field at fault.
            ProviderError: a provider cannot be used; no other takes its place.
        """
        session = SessionOptions(threads, tuple(providers))
        scheduling = scheduler_options(session, replicas, queue_size)
        return cls(open_bundle(Path(path)), session, scheduling, Recall(recall_segments))

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
    def translate(self, text: str, options: DecodingOptions = DEFAULTS) -> Translation: ...
    @overload
    def translate(
        self, text: list[str], options: DecodingOptions = DEFAULTS
    ) -> list[Translation | InputError]: ...
    def translate(
        self, text: str | list[str], options: DecodingOptions = DEFAULTS
    ) -> Translation | list[Translation | InputError]:
        """Translate one text, or several together.

        Args:
            text: a text of any length, or a list of them.
            options: wishes for the search.

        Returns:
            The translation; for a list, each text's translation, or the error that names it.

        Raises:
            InputError: for a single text that cannot be translated, or options beyond the model's limits.
        """
        self._check_options(options)
        if not isinstance(text, str):
            return self._translate_window(text, options, first_item=0)
        (outcome,) = self._translate_window([text], options, first_item=None)
        if isinstance(outcome, InputError):
            raise outcome
        return outcome

    def translate_many(
        self, texts: Iterable[str], options: DecodingOptions = DEFAULTS, read_ahead: int = READ_AHEAD_TEXTS
    ) -> Iterator[Translation | InputError]:
        """Translate lazily and in order, a steady stream with at most `read_ahead` texts under way.

        Yields:
            Per text its translation, or the error that names it by its position.
        """
        self._check_options(options)
        under_way: deque[tuple[_Prepared | InputError, _Search]] = deque()
        try:
            for item, text in enumerate(texts):
                prepared = self._prepare(text, item)
                sources = [] if isinstance(prepared, InputError) else prepared.to_search
                under_way.append((prepared, self._begin(sources, options, Priority.JOB)))
                if len(under_way) >= read_ahead:
                    yield self._next_outcome(under_way, options)
            while under_way:
                yield self._next_outcome(under_way, options)
        finally:  # the caller may stop before the end
            self._scheduler.cancel(ticket for _, search in under_way for ticket in search.tickets)

    def search(
        self, sources: Sequence[Sequence[int]], options: DecodingOptions = DEFAULTS
    ) -> list[list[Hypothesis]]:
        """Ids to hypotheses: the part between the tokenizers.

        Args:
            sources: ids of segments, each ending in the end-of-sentence id.
            options: wishes for the search.

        Returns:
            Per source its hypotheses, best first.
        """
        self._check_options(options)
        return self._results(self._begin(sources, options, Priority.JOB))

    def submit(
        self,
        text: str,
        options: DecodingOptions = DEFAULTS,
        *,
        priority: Priority = Priority.INTERACTIVE,
        timeout_s: float | None = None,
        on_segment: Callable[[SegmentTranslation], object] | None = None,
        on_token: Callable[[int, str], object] | None = None,
    ) -> Future[Translation]:
        """Begin to translate a text. What takes time here is its preparation: about 1 ms a kilobyte.

        Callbacks run on a thread of the engine: they must be quick, and must not wait for this translator.
        What they raise fails this text alone.

        Args:
            text: a text of any length.
            options: wishes for the search.
            priority: who goes first when more waits than can run.
            timeout_s: seconds from now after which the text is given up.
            on_segment: called with every segment as soon as it and all before it are done.
            on_token: called after every step with a segment's position and its text so far, which replaces
                what was told before; segments take turns. Greedy search only, as a beam changes its mind.

        Returns:
            The translation to come. It may be cancelled until it is done; its work then ends within one
            step. It fails with `DeadlineExceeded` or `TranslatorClosed`, or with what a callback raised.

        Raises:
            InputError: the text cannot be translated, or an option is beyond the model's limits.
            Overloaded: too much is waiting already.
            TranslatorClosed: closed before.
        """
        deadline_s = math.inf if timeout_s is None else time.monotonic() + timeout_s
        self._check_options(options)
        if on_token is not None and options.beam_size > 1:
            raise InputError("on_token", f"wants greedy search; set beam_size to 1, not {options.beam_size}")
        prepared = self._prepare(text, None)
        if isinstance(prepared, InputError):
            raise prepared
        pending = PendingText(
            prepared.document, options, lambda index, found: self._piece(prepared, index, found), on_segment
        )
        tickets: list[Ticket] = []
        known: list[tuple[int, Sequence[Hypothesis]]] = []
        for index, source in enumerate(prepared.sources):
            if source is None:
                known.append((index, ()))
                continue
            ticket = self._ticket(source, options, priority, pending.receiver(index))
            ticket.deadline_s, ticket.timeout_s = deadline_s, timeout_s or math.inf
            ticket.on_step = None if on_token is None else self._text_so_far(index, on_token)
            found = self._recall.find(ticket.source, ticket.kind) if on_token is None else None
            if found is None:
                tickets.append(ticket)
            else:
                known.append((index, found))
        self._scheduler.submit(tickets)
        for index, hypotheses in known:
            pending.add(index, hypotheses)
        pending.resolve_if_complete()
        # Cancelled, or failed in one segment: the others are of no use.
        pending.future.add_done_callback(lambda _: self._scheduler.cancel(tickets))
        return pending.future

    def _translate_window(
        self, texts: Sequence[str], options: DecodingOptions, first_item: int | None
    ) -> list[Translation | InputError]:
        prepared = [
            self._prepare(text, None if first_item is None else first_item + index)
            for index, text in enumerate(texts)
        ]
        sources = [source for text in prepared if isinstance(text, _Prepared) for source in text.to_search]
        hypotheses = iter(self._results(self._begin(sources, options, Priority.INTERACTIVE)))
        return [
            text if isinstance(text, InputError) else self._finish(text, hypotheses, options)
            for text in prepared
        ]

    def _next_outcome(
        self, under_way: "deque[tuple[_Prepared | InputError, _Search]]", options: DecodingOptions
    ) -> Translation | InputError:
        text, search = under_way[0]
        hypotheses = iter(self._results(search))
        under_way.popleft()
        return text if isinstance(text, InputError) else self._finish(text, hypotheses, options)

    def _prepare(self, text: str, item: int | None) -> _Prepared | InputError:
        """Text to segments to ids."""
        tokenizer, limits = self._source_tokenizer, self.manifest.limits
        try:
            check_text(text, item)
            document = segment_to_fit(
                text, self.manifest.source_language, tokenizer.count, limits.max_source_tokens
            )
        except InputError as error:
            return InputError(error.field, error.problem, item)
        to_encode = [segment for segment in document.segments if has_letters(segment)]
        encoded = iter(tokenizer.encode(to_encode))
        sources = tuple(next(encoded) if has_letters(segment) else None for segment in document.segments)
        return _Prepared(document, sources)

    def _begin(
        self, sources: Sequence[Sequence[int]], options: DecodingOptions, priority: Priority
    ) -> _Search:
        """Let sources wait for a replica."""
        gathering = Gathering(len(sources))
        search = _Search([], gathering)
        for index, source in enumerate(sources):
            receiver = gathering.receiver(index)
            ticket = self._ticket(source, options, priority, receiver)
            found = self._recall.find(ticket.source, ticket.kind)
            if found is None:
                search.tickets.append(ticket)
            else:
                receiver(found)
        try:
            self._scheduler.feed(search.tickets)
        except BaseException:  # a list is fed while its beginning is searched for
            self._scheduler.cancel(search.tickets)
            raise
        return search

    def _results(self, search: _Search) -> list[list[Hypothesis]]:
        """Wait for hypotheses."""
        try:
            return search.gathering.results()
        except BaseException:  # an interrupt, or an error in one: the others are of no use
            self._scheduler.cancel(search.tickets)
            raise

    def _ticket(
        self,
        ids: Sequence[int],
        options: DecodingOptions,
        priority: Priority,
        on_done: Callable[[Outcome], None],
    ) -> Ticket:
        source = Source(ids, self._limits(len(ids), options), options.length_penalty, options.num_hypotheses)
        kind = SearchKind(options.beam_size, options.use_shortlist and self._shortlist is not None)
        return Ticket(source, kind, priority, self._recall.keeping(source, kind, on_done))

    def _text_so_far(self, segment: int, on_token: Callable[[int, str], object]) -> Callable[[Ids], None]:
        """Half a character, of which more bytes are to come, is not shown."""

        def tell(ids: Ids) -> None:
            (text,) = self._target_tokenizer.decode([ids])
            on_token(segment, text.rstrip("\N{REPLACEMENT CHARACTER}"))

        return tell

    def _piece(self, text: _Prepared, index: int, found: Sequence[Hypothesis]) -> Piece:
        """A segment's hypotheses to text."""
        targets = self._target_tokenizer.decode([hypothesis.ids for hypothesis in found])
        num_tokens = len(text.sources[index] or ())
        return Piece(text.document.segments[index], num_tokens, tuple(found), tuple(targets))

    def _finish(
        self, text: _Prepared, hypotheses: Iterator[list[Hypothesis]], options: DecodingOptions
    ) -> Translation:
        """Hypotheses to text."""
        pieces = [
            self._piece(text, index, [] if source is None else next(hypotheses))
            for index, source in enumerate(text.sources)
        ]
        return rejoin(text.document, pieces, options)

    def _limits(self, num_source_tokens: int, options: DecodingOptions) -> SourceLimits:
        """A translation seldom has twice its source's tokens; a loop would have no end."""
        default = max(2 * num_source_tokens + 20, options.min_length)
        most = options.max_length or min(default, self.manifest.limits.max_target_tokens)
        return SourceLimits(max_tokens=most, min_tokens=max(1, options.min_length))

    def _check_options(self, options: DecodingOptions) -> None:
        most = self.manifest.limits.max_target_tokens
        for field, value in (("max_length", options.max_length), ("min_length", options.min_length)):
            if value is not None and value > most:
                raise InputError(field, f"{value} is over this model's limit of {most} tokens a segment")
