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
from dragoman.bundle import Bundle, open_bundle
from dragoman.decoding.loop import Lane, open_strategy
from dragoman.decoding.options import DecodingOptions, SearchOptions
from dragoman.decoding.strategy import Source, TargetVocabulary
from dragoman.errors import InputError
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import CrossKV, Encoder
from dragoman.graphs.pages import compacted_memory
from dragoman.graphs.session import SessionOptions
from dragoman.opening import open_shortlist, open_tokenizers, scheduler_options
from dragoman.pending import PendingText
from dragoman.preparing import PreparedText, Preparer
from dragoman.providers import Provider
from dragoman.recall import Recall
from dragoman.rejoin import Piece, rejoin
from dragoman.types import Hypothesis, Pair, Priority, SearchKind, SegmentTranslation, Translation

DEFAULTS = DecodingOptions()
READ_AHEAD_TEXTS = 512
"""Texts that `translate_many` has under way at most, so that sources of like length meet in a batch."""
QUEUE_SIZE = 4096
"""Segments of submitted texts that may wait."""

Ids = list[int]


@dataclass(frozen=True, slots=True)
class _Wishes:
    """What a caller asks for, nothing left open."""

    options: SearchOptions
    pair: Pair


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
        self.manifest = bundle.manifest
        source_tokenizer, self._target_tokenizer = open_tokenizers(bundle)
        self._preparer = Preparer(self.manifest.languages, self.manifest.limits, source_tokenizer)
        with compacted_memory():
            encoder, decoder = Encoder(bundle, session), Decoder(bundle, session)
        target = TargetVocabulary(self.manifest.special_ids.eos, self.manifest.sizes.target_vocab)

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
        wishes = self._wishes(options, pair)
        if not isinstance(text, str):
            return self._translate_window(text, wishes, first_item=0)
        (outcome,) = self._translate_window([text], wishes, first_item=None)
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
    ) -> Iterator[Translation | InputError]:
        """Translate lazily and in order, a steady stream with at most `read_ahead` texts under way.

        Yields:
            Per text its translation, or the error that names it by its position.
        """
        wishes = self._wishes(options, pair)
        under_way: deque[tuple[PreparedText | InputError, _Search]] = deque()
        try:
            for item, text in enumerate(texts):
                prepared = self._preparer.prepare(text, wishes.pair, item)
                sources = [] if isinstance(prepared, InputError) else prepared.to_search
                under_way.append((prepared, self._begin(sources, wishes, Priority.JOB)))
                if len(under_way) >= read_ahead:
                    yield self._next_outcome(under_way, wishes)
            while under_way:
                yield self._next_outcome(under_way, wishes)
        finally:  # the caller may stop before the end
            self._scheduler.cancel(ticket for _, search in under_way for ticket in search.tickets)

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
        return self._results(self._begin(sources, self._wishes(options, pair), Priority.JOB))

    def submit(
        self,
        text: str,
        options: DecodingOptions = DEFAULTS,
        *,
        pair: Pair | None = None,
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
            pair: languages; None where the bundle has only one pair.
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
            UnsupportedPair: the bundle does not serve the pair, or serves several and none was named.
            Overloaded: too much is waiting already.
            TranslatorClosed: closed before.
        """
        deadline_s = math.inf if timeout_s is None else time.monotonic() + timeout_s
        wishes = self._wishes(options, pair)
        if on_token is not None and wishes.options.beam_size > 1:
            problem = f"wants greedy search; set beam_size to 1, not {wishes.options.beam_size}"
            raise InputError("on_token", problem)
        prepared = self._preparer.prepare(text, wishes.pair, None)
        if isinstance(prepared, InputError):
            raise prepared
        pending = PendingText(
            prepared.document,
            wishes.options,
            lambda index, found: self._piece(prepared, index, found),
            on_segment,
        )
        tickets: list[Ticket] = []
        known: list[tuple[int, Sequence[Hypothesis]]] = []
        for index, source in enumerate(prepared.sources):
            if source is None:
                known.append((index, ()))
                continue
            ticket = self._ticket(source, wishes, priority, pending.receiver(index))
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
        self, texts: Sequence[str], wishes: _Wishes, first_item: int | None
    ) -> list[Translation | InputError]:
        prepared = [
            self._preparer.prepare(text, wishes.pair, None if first_item is None else first_item + index)
            for index, text in enumerate(texts)
        ]
        sources = [source for text in prepared if isinstance(text, PreparedText) for source in text.to_search]
        hypotheses = iter(self._results(self._begin(sources, wishes, Priority.INTERACTIVE)))
        return [
            text if isinstance(text, InputError) else self._finish(text, hypotheses, wishes)
            for text in prepared
        ]

    def _next_outcome(
        self, under_way: "deque[tuple[PreparedText | InputError, _Search]]", wishes: _Wishes
    ) -> Translation | InputError:
        text, search = under_way[0]
        hypotheses = iter(self._results(search))
        under_way.popleft()
        return text if isinstance(text, InputError) else self._finish(text, hypotheses, wishes)

    def _begin(self, sources: Sequence[Sequence[int]], wishes: _Wishes, priority: Priority) -> _Search:
        """Let sources wait for a replica."""
        gathering = Gathering(len(sources))
        search = _Search([], gathering)
        for index, source in enumerate(sources):
            receiver = gathering.receiver(index)
            ticket = self._ticket(source, wishes, priority, receiver)
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
        wishes: _Wishes,
        priority: Priority,
        on_done: Callable[[Outcome], None],
    ) -> Ticket:
        options = wishes.options
        source = Source(
            ids=ids,
            begin=self._preparer.begin(wishes.pair),
            limits=self._preparer.target_limits(ids, wishes.pair, options),
            length_penalty=options.length_penalty,
            num_hypotheses=options.num_hypotheses,
            early_stopping=options.early_stopping,
        )
        kind = SearchKind(options.beam_size, options.use_shortlist and self._shortlist is not None)
        return Ticket(source, kind, priority, self._recall.keeping(source, kind, on_done))

    def _text_so_far(self, segment: int, on_token: Callable[[int, str], object]) -> Callable[[Ids], None]:
        """Half a character, of which more bytes are to come, is not shown."""

        def tell(ids: Ids) -> None:
            (text,) = self._target_tokenizer.decode([ids])
            on_token(segment, text.rstrip("\N{REPLACEMENT CHARACTER}"))

        return tell

    def _piece(self, text: PreparedText, index: int, found: Sequence[Hypothesis]) -> Piece:
        """A segment's hypotheses to text."""
        targets = self._target_tokenizer.decode([hypothesis.ids for hypothesis in found])
        num_tokens = len(text.sources[index] or ())
        return Piece(text.document.segments[index], num_tokens, tuple(found), tuple(targets))

    def _finish(
        self, text: PreparedText, hypotheses: Iterator[list[Hypothesis]], wishes: _Wishes
    ) -> Translation:
        """Hypotheses to text."""
        pieces = [
            self._piece(text, index, [] if source is None else next(hypotheses))
            for index, source in enumerate(text.sources)
        ]
        return rejoin(text.document, pieces, wishes.options)

    def _wishes(self, options: DecodingOptions, pair: Pair | None) -> _Wishes:
        """What a caller asks for, with the bundle's own answers where it does not say.

        Raises:
            InputError: an option is beyond the model's limits.
            UnsupportedPair: no such pair, or none was named.
        """
        most = self.manifest.limits.max_target_tokens
        for field, value in (("max_length", options.max_length), ("min_length", options.min_length)):
            if value is not None and value > most:
                raise InputError(field, f"{value} is over this model's limit of {most} tokens a segment")
        source, target = (None, None) if pair is None else pair
        defaults = self.manifest.decoding
        resolved = options.resolve(defaults.beam_size, defaults.length_penalty, defaults.early_stopping)
        return _Wishes(resolved, self.manifest.languages.pair(source, target))
