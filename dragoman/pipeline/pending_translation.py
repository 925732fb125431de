"""A text that was submitted: its segments come in from several threads, in any order."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from dragoman.decoding.options import SearchOptions
from dragoman.pipeline.assembly import SegmentLocator, SegmentOutput, rejoin
from dragoman.scheduling.replica import Outcome
from dragoman.text.segmentation import Document
from dragoman.types import Hypothesis, SegmentTranslation, Translation

Result = TypeVar("Result")
MakePiece = Callable[[int, Sequence[Hypothesis]], SegmentOutput]


def resolve(future: Future[Result], outcome: Result | Exception) -> bool:
    """Give a pending future its outcome; whether it was not cancelled before."""
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
        document: Document,
        options: SearchOptions,
        make_piece: MakePiece,
        on_segment: Callable[[SegmentTranslation], object] | None,
    ) -> None:
        """Nothing has come in yet.

        Args:
            document: the text's segments and gaps.
            options: wishes for the search.
            make_piece: puts a segment, by its position, and its hypotheses together.
            on_segment: see `Translator.submit`.
        """
        self.future: Future[Translation] = Future()
        """Pending until it is done, so that it can be cancelled all the time."""
        self._document = document
        self._options = options
        self._make_piece = make_piece
        self._on_segment = on_segment
        self._pieces: list[SegmentOutput | None] = [None] * len(document.segments)
        self._num_told = 0
        self._presenter = SegmentLocator(document, options)
        self._is_settled = False
        self._lock = threading.RLock()  # a callback may cancel its own text

    def receiver(self, segment: int) -> Callable[[Outcome], None]:
        """Takes the outcome of a segment, from any thread."""

        def receive(outcome: Outcome) -> None:
            if isinstance(outcome, Exception):
                self._settle(outcome)
            else:
                self.add(segment, outcome)

        return receive

    def add(self, segment: int, hypotheses: Sequence[Hypothesis]) -> None:
        """Take a segment in; without hypotheses it is copied. The last one resolves the future."""
        with self._lock:
            if self._is_settled or self.future.done():
                return
            try:
                self._pieces[segment] = self._make_piece(segment, hypotheses)
                self._tell()
            except Exception as error:  # noqa: BLE001 -- a callback's or our own: it fails this text alone
                self._settle(error)

    def resolve_if_complete(self) -> None:
        """Resolve the future of a text with nothing to search for."""
        with self._lock:
            if self._num_told == len(self._pieces) and not self._is_settled:
                self._settle(self._translation())

    def _tell(self) -> None:
        """Tell of the segments that are done, in order; resolve the future after the last."""
        while self._num_told < len(self._pieces):
            piece = self._pieces[self._num_told]
            if piece is None:
                return
            self._num_told += 1
            if self._on_segment is not None and not self.future.done():
                self._on_segment(self._presenter.present(piece))
        self.resolve_if_complete()

    def _translation(self) -> Translation:
        return rejoin(self._document, [piece for piece in self._pieces if piece is not None], self._options)

    def _settle(self, outcome: Translation | Exception) -> None:
        with self._lock:
            if self._is_settled:
                return
            self._is_settled = True
        resolve(self.future, outcome)
