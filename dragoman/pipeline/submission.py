"""Submit texts to the scheduler, segment by segment."""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from dragoman.errors import InputError
from dragoman.forking import renew_after_fork
from dragoman.pipeline.pacing import never_pause
from dragoman.pipeline.pending_translation import PendingTexts, Run, TextOutcome, resolve
from dragoman.pipeline.postprocessing import Postprocessor
from dragoman.pipeline.resolution import ResolvedRequest
from dragoman.pipeline.segment_input import SegmentInput
from dragoman.pipeline.segment_requests import Engine, Enqueue, SegmentRequests, begin_all
from dragoman.reading.read_text import RewordedText
from dragoman.reading.respelling import Respeller
from dragoman.scheduling.segment_request import Outcome, SegmentRequest
from dragoman.text.swiss import to_swiss
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import FinishReason, Hypothesis, SegmentTranslation

Result = TypeVar("Result")


class TextSubmitter:
    """Prepares texts, enqueues their segments and returns futures. Safe to use from several threads.

    A future may be cancelled until it is done; its segments are then cancelled within one step.
    """

    def __init__(
        self,
        engine: Engine,
        postprocessor: Postprocessor,
        target_tokenizer: Tokenizer,
        cancel: Callable[[Iterable[SegmentRequest]], None],
    ) -> None:
        self._engine = engine
        self._postprocessor = postprocessor
        self._target_tokenizer = target_tokenizer
        self._target_respeller = Respeller(target_tokenizer.word_cost)
        self._cancel = cancel
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin without a thread, as in a forked process."""
        self._thread = ThreadPoolExecutor(1, "dragoman-results")

    def close(self) -> None:
        """End the thread once it has made the translations that it has begun."""
        self._thread.shutdown(wait=False)

    def _run(self, work: Callable[[], None]) -> None:
        """Run work on the thread that makes translations; here when the translator is closed."""
        try:
            self._thread.submit(work)
        except RuntimeError:
            work()

    def submit(
        self,
        texts: Sequence[str],
        first_item: int | None,
        resolved: ResolvedRequest,
        enqueue: Enqueue,
        combine: Callable[[list[TextOutcome]], Result | Exception],
        run: Run | None = None,
        pause: Callable[[], None] = never_pause,
    ) -> Future[Result]:
        """Submit texts that are prepared together, and done together.

        Args:
            texts: of any length.
            first_item: position of the first one in the caller's list; None for a text without a list.
            resolved: the request with the bundle's defaults.
            enqueue: takes the segments to search for; what it raises is raised.
            combine: makes the future's outcome of those of the texts.
            run: makes the translations; None for a thread of this object.
            pause: called between pieces of work.

        Raises:
            InputError: a text without a list cannot be translated.
        """
        prepared = self._engine.preparer.prepare(
            texts, resolved.pair, first_item, resolved.options, resolved.controls, resolved.term_finder, pause
        )
        request = resolved.request
        requests = SegmentRequests(self._engine, resolved)
        pending = PendingTexts(
            prepared, resolved, self._postprocessor, run or self._run, combine, requests.search_now
        )
        begun: list[SegmentRequest] = []
        for number, text in enumerate(prepared):
            if isinstance(text, InputError):
                if first_item is None:
                    raise text
                continue
            if request.on_segmented is not None:
                request.on_segmented(text.document.segments)
            for index, source in enumerate(text.sources):
                pause()
                if isinstance(source, FinishReason):
                    pending.receiver(number, index, source)([])
                    continue
                readings = requests.search(source, partial(pending.receiver, number, index))
                if request.on_token is not None:
                    readings[0].on_step = self._on_step(index, request.on_token, source.read, resolved)
                    readings[0].cached = None
                begun += readings
        begin_all(begun, enqueue)
        pending.start()
        self._cancel_with(pending.future, requests.made)
        return pending.future

    def score(
        self,
        source: str,
        target: str,
        target_ids: tuple[int, ...],
        resolved: ResolvedRequest,
        enqueue: Enqueue,
    ) -> Future[SegmentTranslation]:
        """Submit one segment and its given target to forced decoding.

        Raises:
            InputError: one of them is too long, or the source cannot be read.
        """
        segment = self._engine.preparer.prepare_one(source, resolved.pair, "source")
        read_target = self._read_target(target, segment.read, resolved.pair.target)
        read_ids: Sequence[int] = target_ids
        if read_target is not None:
            (read_ids,) = self._target_tokenizer.encode([read_target.text])
        future: Future[SegmentTranslation] = Future()

        def receive(read: SegmentInput, outcome: Outcome) -> None:
            if isinstance(outcome, Exception):
                resolve(future, outcome)
            else:
                both = read, read_target if read is segment else None
                resolve(future, self._postprocessor.scored((source, target), both, outcome[0]))

        requests = SegmentRequests(self._engine, resolved)
        enqueue(requests.score(segment, (read_ids, target_ids), lambda read: partial(receive, read)))
        self._cancel_with(future, requests.made)
        return future

    def _read_target(self, target: str, read: RewordedText | None, language: str) -> RewordedText | None:
        """Return how the model spells a target whose source it reads in another spelling; else None."""
        if read is None or (read.words == () and not read.has_quote_spaces):
            return None
        return self._target_respeller.respell(target, language, may_add_quote_spaces=read.has_quote_spaces)

    def search(
        self, sources: Sequence[Sequence[int]], resolved: ResolvedRequest, enqueue: Enqueue
    ) -> Future[list[list[Hypothesis]]]:
        """Submit sources as ids; return the future hypotheses of each."""
        found: dict[int, list[Hypothesis]] = {}
        future: Future[list[list[Hypothesis]]] = Future()
        lock = threading.Lock()

        def receive(segment: SegmentInput, outcome: Outcome) -> None:
            with lock:
                if not isinstance(outcome, Exception):
                    found[segment.number] = outcome
                elif not future.done():
                    resolve(future, outcome)
                if len(found) == len(sources):
                    resolve(future, [found[number] for number in range(len(sources))])

        requests = SegmentRequests(self._engine, resolved)
        begun: list[SegmentRequest] = []
        for number, source in enumerate(sources):
            begun += requests.search(SegmentInput(number, list(source)), lambda one: partial(receive, one))
        begin_all(begun, enqueue)
        if not sources:
            resolve(future, [])
        self._cancel_with(future, requests.made)
        return future

    def _cancel_with(self, future: Future[Result], made: list[SegmentRequest]) -> None:
        """Cancel the requests that are not done when the future is cancelled or fails."""

        def cancel(done: Future[Result]) -> None:
            if done.cancelled() or done.exception() is not None:
                self._cancel(made)
            # Breaks the reference cycle of a text and its segments: the garbage collector stops all threads,
            # for a tenth of a second if many large texts are in memory.
            made.clear()

        future.add_done_callback(cancel)

    def _on_step(
        self,
        index: int,
        on_token: Callable[[int, str], object],
        read: RewordedText | None,
        resolved: ResolvedRequest,
    ) -> Callable[[list[int]], None]:
        """Return a receiver of a segment's ids; it omits a last character whose bytes are incomplete.

        Args:
            index: position of the segment.
            on_token: called with the position and the text so far.
            read: what the model reads; None for the segment.
            resolved: the request.
        """

        def report(ids: list[int]) -> None:
            (text,) = self._target_tokenizer.decode([ids])
            text = text if read is None else read.finish_beginning(text, resolved.pair.target)
            on_token(index, to_swiss(text) if resolved.is_swiss else text)

        return report
