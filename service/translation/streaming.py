"""Progress of a streamed translation, and what of it is charged."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

from dragoman.types import SegmentTranslation
from service.translation.inference import EngineCall
from service.translation.planned_text import PlannedText


class StreamDetail(Enum):
    """Granularity of a streamed translation."""

    SEGMENTS = 1
    TOKENS = 2
    """Greedy search only, as a beam changes its mind."""


@dataclass(frozen=True, slots=True)
class SegmentDone:
    """A finished segment; all segments before it in its text are finished."""

    item: int
    """Position of its text in the request."""
    number: int
    """Position in its text."""
    segment: SegmentTranslation


@dataclass(frozen=True, slots=True)
class SegmentSoFar:
    """The beginning of a segment, which replaces the beginning sent before."""

    item: int
    number: int
    text: str
    num_source_characters: int
    """Length of the segment's source."""


Progress = SegmentDone | SegmentSoFar


@dataclass(slots=True)
class Delivery:
    """The part of charged work that its caller has got."""

    num_characters: int = 0
    """Characters of the source."""
    _segments: dict[tuple[int, int], int] = field(default_factory=dict)
    """Characters of each segment of which a part was delivered."""

    def add(self, progress: Progress) -> None:
        """Count the segment of which a part is delivered, once and as a whole."""
        if isinstance(progress, SegmentDone):
            num_characters = len(progress.segment.source)
        else:
            num_characters = progress.num_source_characters if progress.text else 0
        segment = progress.item, progress.number
        self.num_characters += num_characters - self._segments.get(segment, 0)
        self._segments[segment] = num_characters


def with_callbacks(
    call: EngineCall, plan: PlannedText, item: int, detail: StreamDetail, notify: Callable[[Progress], None]
) -> EngineCall:
    """Return a text's only call, which reports its progress.

    Args:
        call: the call.
        plan: the text.
        item: position of the text in the client's request.
        detail: what to report.
        notify: called on a thread of the engine.
    """
    sources: list[str] = []

    def on_segment(segment: SegmentTranslation) -> None:
        taken = plan.take_segment(segment)
        if taken is not None:
            notify(SegmentDone(item, plan.num_streamed - 1, taken))

    def on_token(number: int, text: str) -> None:
        if (shown := plan.shown_beginning(text)) is not None:
            notify(SegmentSoFar(item, number, shown, len(sources[number])))

    tokens = on_token if detail is StreamDetail.TOKENS else None
    request = replace(call.request, on_segmented=sources.extend, on_segment=on_segment, on_token=tokens)
    return replace(call, request=request)
