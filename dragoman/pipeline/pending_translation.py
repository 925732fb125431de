"""Collect the segments of a submitted text, which arrive from several threads and in any order."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from dragoman.decoding.options import SearchOptions
from dragoman.pipeline.assembly import SegmentLocator, SegmentOutput, rejoin
from dragoman.pipeline.preparation import SegmentInput
from dragoman.scheduling.segment_request import Outcome
from dragoman.text.address import prevailing_form
from dragoman.text.segmentation import SegmentedText
from dragoman.types import FinishReason, Formality, Hypothesis, SegmentTranslation, Translation

Result = TypeVar("Result")
MakePiece = Callable[[int, SegmentInput | FinishReason, Sequence[Hypothesis]], SegmentOutput]


def resolve(future: Future[Result], outcome: Result | Exception) -> bool:
    """Set a pending future's outcome; return False if the future was cancelled."""
    if not future.set_running_or_notify_cancel():
        return False
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)
    return True


class PendingTranslation:
    """Collects a text's segments and resolves its future."""

    def __init__(
        self,
        document: SegmentedText,
        options: SearchOptions,
        make_piece: MakePiece,
        on_segment: Callable[[SegmentTranslation], object] | None,
        search_again: Callable[[int, Formality], object] | None,
    ) -> None:
        """Wait for all segments.

        Args:
            document: the text's segments and gaps.
            options: options of the search.
            make_piece: makes a segment's output from its position, its input and its hypotheses.
            on_segment: see `EngineRequest`.
            search_again: searches for a segment with another form of address; None if all may stay.
        """
        self.future: Future[Translation] = Future()
        """Pending until it is done, so that it can be cancelled at any time."""
        self._document = document
        self._options = options
        self._make_piece = make_piece
        self._on_segment = on_segment
        self._search_again = search_again
        self._pieces: list[SegmentOutput | None] = [None] * len(document.segments)
        self._num_reported = 0
        self._locator = SegmentLocator(document, options)
        self._is_settled = False
        self._lock = threading.RLock()  # a callback may cancel its own text

    def receiver(self, segment: int, source: SegmentInput) -> Callable[[Outcome], None]:
        """Return what receives the outcome of a segment, on any thread.

        Args:
            segment: its position.
            source: the input that is searched for.
        """

        def receive(outcome: Outcome) -> None:
            if isinstance(outcome, Exception):
                self._settle(outcome)
            else:
                self.add(segment, source, outcome)

        return receive

    def add(
        self, segment: int, source: SegmentInput | FinishReason, hypotheses: Sequence[Hypothesis]
    ) -> None:
        """Add a segment's hypotheses; with a reason instead of an input it is copied.

        The last segment resolves the future.
        """
        with self._lock:
            if self._is_settled or self.future.done():
                return
            try:
                self._pieces[segment] = self._make_piece(segment, source, hypotheses)
                self._report()
            except Exception as error:  # noqa: BLE001 -- a callback's or our own: it fails this text alone
                self._settle(error)

    def resolve_if_complete(self) -> None:
        """Resolve the future if no segment is missing, as in a text without letters."""
        with self._lock:
            if self._num_reported == len(self._pieces) and not self._is_settled:
                self._settle(self._translation())

    def _report(self) -> None:
        """Call `on_segment` for the segments that are done, in order; resolve the future after the last.

        A segment that addresses somebody is not done before all are, as their form of address is one.
        """
        if self._search_again is not None and None not in self._pieces:
            self._unify_forms(self._search_again)
        while self._num_reported < len(self._pieces):
            piece = self._pieces[self._num_reported]
            if piece is None or (self._search_again is not None and piece.forms):
                return
            self._num_reported += 1
            if self._on_segment is not None and not self.future.done():
                self._on_segment(self._locator.present(piece))
        self.resolve_if_complete()

    def _unify_forms(self, search_again: Callable[[int, Formality], object]) -> None:
        """Search again for the segments that have another form of address than most."""
        self._search_again = None
        forms = [frozenset[Formality]() if piece is None else piece.forms for piece in self._pieces]
        form = prevailing_form(forms)
        if form is None:
            return
        others = [index for index, own in enumerate(forms) if own - {form}]
        for index in others:
            self._pieces[index] = None
        for index in others:
            search_again(index, form)

    def _translation(self) -> Translation:
        return rejoin(self._document, [piece for piece in self._pieces if piece is not None], self._options)

    def _settle(self, outcome: Translation | Exception) -> None:
        with self._lock:
            if self._is_settled:
                return
            self._is_settled = True
        resolve(self.future, outcome)
