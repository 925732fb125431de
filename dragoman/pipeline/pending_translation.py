"""Collect the segments of submitted texts, which arrive from several threads and in any order."""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import Generic, TypeVar

from dragoman.errors import InputError
from dragoman.pipeline.assembly import SegmentOutput, TextAssembly
from dragoman.pipeline.postprocessing import FoundSegment, Postprocessor
from dragoman.pipeline.preparation import PreparedText
from dragoman.pipeline.resolution import ResolvedRequest
from dragoman.pipeline.segment_input import Input, SegmentInput
from dragoman.pipeline.segment_requests import Receive
from dragoman.scheduling.segment_request import Outcome
from dragoman.text.address import prevailing_form
from dragoman.text.segmentation import SegmentedText
from dragoman.types import Formality, Translation

Result = TypeVar("Result")
Run = Callable[[Callable[[], None]], object]
"""Runs the making of translations later, on a thread that drives no device."""
TextOutcome = Translation | Exception
_Arrived = tuple[int, int, Input, Outcome]
"""Positions of a text and of its segment, the input that was searched for, and what was found."""
SearchAgain = Callable[[SegmentInput, Receive], None]
"""Searches for a segment by another input."""


def resolve(future: Future[Result], outcome: Result | Exception) -> bool:
    """Set a pending future's outcome; return False if the future was cancelled."""
    if not future.set_running_or_notify_cancel():
        return False
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
    return True


class PendingTexts(Generic[Result]):
    """Collects the segments of texts that share a future, and makes the translations when all are there.

    Segments that callbacks are waiting for are made as they arrive.
    """

    def __init__(
        self,
        texts: Sequence[PreparedText | InputError],
        resolved: ResolvedRequest,
        postprocessor: Postprocessor,
        run: Run,
        combine: Callable[[list[TextOutcome]], Result | Exception],
        search_again: SearchAgain,
    ) -> None:
        """Wait for all segments; `start` makes it run.

        Args:
            texts: errors are outcomes already.
            resolved: the request.
            postprocessor: makes segments' outputs.
            run: see `Run`.
            combine: makes the future's outcome of those of the texts.
            search_again: called where a text has several forms of address.
        """
        self.future: Future[Result] = Future()
        """Pending until it is done, so that it can be cancelled at any time."""
        self._texts = [_PendingText(one, resolved) for one in texts]
        self._resolved = resolved
        self._postprocessor = postprocessor
        self._run = run
        self._combine = combine
        self._search_again = search_again
        self._num_missing = sum(len(text.pieces) for text in self._texts)
        self._arrived: list[_Arrived] = []
        self._is_running = True
        """Whether a thread processes what arrives, or will."""
        self._lock = threading.Lock()

    def receiver(self, text: int, segment: int, source: Input) -> Callable[[Outcome], None]:
        """Return what receives the outcome of a segment of a text, on any thread, by its input."""
        return partial(PendingTexts._receive, self, text, segment, source)

    def _receive(self, text: int, segment: int, source: Input, outcome: Outcome) -> None:
        with self._lock:
            self._arrived.append((text, segment, source, outcome))
            self._num_missing -= 1
            is_awaited = not self._num_missing or self._resolved.request.on_segment is not None
            if self._is_running or not (is_awaited or isinstance(outcome, Exception)):
                return
            self._is_running = True
        self._run(self._process_all)

    def start(self) -> None:
        """Process what has arrived; what arrives later is processed by `run`."""
        self._report([number for number, text in enumerate(self._texts) if not text.pieces])
        self._process_all()

    def _process_all(self) -> None:
        while True:
            with self._lock:
                arrived, self._arrived = self._arrived, []
                if not arrived:
                    self._is_running = False
                    return
            if not self.future.done():
                self._process(arrived)

    def _process(self, arrived: Sequence[_Arrived]) -> None:
        found: list[FoundSegment] = []
        for number, segment, source, outcome in arrived:
            text = self._texts[number]
            if isinstance(outcome, Exception):
                text.outcome = text.outcome or outcome
            else:
                found.append(FoundSegment(text.prepared, number, segment, source, outcome))
        try:
            pieces = self._postprocessor.pieces(found, self._resolved)
        except Exception as error:  # noqa: BLE001 -- our own: it fails the text at fault alone
            if len(arrived) > 1:
                for each in arrived:
                    self._process([each])
                return
            self._texts[arrived[0][0]].outcome, found, pieces = error, [], []
        for one, piece in zip(found, pieces, strict=True):
            self._texts[one.number].pieces[one.position] = piece
        self._report(dict.fromkeys(number for number, _, _, _ in arrived))

    def _report(self, numbers: Iterable[int]) -> None:
        """Make the translations of texts whose segments are all there; resolve the future after the last."""
        for number in numbers:
            text = self._texts[number]
            try:
                if text.outcome is None:
                    self._advance(number, text)
            except Exception as error:  # noqa: BLE001 -- a callback's or our own: it fails this text alone
                text.outcome = error
        outcomes = [text.outcome for text in self._texts if text.outcome is not None]
        if len(outcomes) == len(self._texts) and not self.future.done():
            resolve(self.future, self._combine(outcomes))

    def _advance(self, number: int, text: "_PendingText") -> None:
        """Call `on_segment` for the segments that are done, in order; make the translation after the last.

        A segment that addresses somebody is not done before all are, as their form of address is one.
        """
        if text.may_have_other_forms and None not in text.pieces:
            self._unify_forms(number, text)
        on_segment = self._resolved.request.on_segment
        assembly = text.assembly or TextAssembly(text.prepared.document, self._resolved.options)
        for piece in text.pieces[len(assembly.segments) :]:
            if piece is None or (text.may_have_other_forms and piece.forms):
                text.assembly = assembly
                return
            segment = assembly.add(piece)
            if on_segment is not None and not self.future.done():
                on_segment(segment)
        text.outcome = assembly.finish()

    def _unify_forms(self, number: int, text: "_PendingText") -> None:
        """Search again for the segments that have another form of address than most."""
        text.may_have_other_forms = False
        forms = [frozenset[Formality]() if piece is None else piece.forms for piece in text.pieces]
        form = prevailing_form(forms)
        if form is None:
            return
        others = [index for index, own in enumerate(forms) if own - {form}]
        for index in others:
            text.pieces[index] = None
        with self._lock:
            self._num_missing += len(others)
        for index in others:
            source = text.prepared.sources[index]
            if isinstance(source, SegmentInput):
                other = source.with_control(self._resolved.forms[form])
                self._search_again(other, partial(self.receiver, number, index))


class _PendingText:
    """Segments of a text that have arrived."""

    def __init__(self, prepared: PreparedText | InputError, resolved: ResolvedRequest) -> None:
        self.outcome: TextOutcome | None = None
        if isinstance(prepared, InputError):
            self.outcome, prepared = prepared, PreparedText(SegmentedText((), ("",)), ())
        self.prepared = prepared
        self.pieces: list[SegmentOutput | None] = [None] * len(prepared.sources)
        self.assembly: TextAssembly | None = None
        """Has the segments that are done, until all are."""
        self.may_have_other_forms = bool(resolved.forms)
