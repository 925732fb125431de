"""The request that a caller hands to the engine with each text."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dragoman.argument_types import checks_arguments
from dragoman.decoding.options import DecodingOptions
from dragoman.scheduling.deadline import NO_DEADLINE, Deadline
from dragoman.scheduling.fair_queue import Flow
from dragoman.types import Pair, Priority, SegmentTranslation

DEFAULT_DECODING = DecodingOptions()


@checks_arguments
@dataclass(frozen=True, slots=True)
class EngineRequest:
    """Parameters of a text's translation, and callbacks.

    Callbacks run on a thread of the translator, or of its caller while it waits: they must be quick and must
    not wait for the translator. What a callback raises fails its text alone.
    """

    options: DecodingOptions = DEFAULT_DECODING
    pair: Pair | None = None
    """Languages; None where the bundle has only one pair. A router sets it from the route."""
    priority: Priority = Priority.INTERACTIVE
    deadline: Deadline = NO_DEADLINE
    """For all steps of a route, opening bundles included."""
    flow: Flow | None = None
    """Shared by all texts of one client request, for fair queueing; None if the text is the whole request."""
    cache_partition: str = ""
    """Partition of the segment cache to use; see `SegmentCache`."""
    is_cancelled: Callable[[], bool] | None = None
    """Called by `translate_many` at least twice a second, while it prepares a text or waits for it; if true,
    the call raises `TranslationCancelled`. The future of a single text is cancelled instead."""
    on_segmented: Callable[[Sequence[str]], object] | None = None
    """Called once, before the callbacks below, with the segments that the text is split into."""
    on_segment: Callable[[SegmentTranslation], object] | None = None
    """Called with each segment once it and all segments before it are done. If no form of address is
    requested, a segment that has one waits for all others."""
    on_token: Callable[[int, str], object] | None = None
    """Called after each step with a segment's position and its text so far, which replaces the text of the
    previous call. Segments interleave. Greedy search only, as a beam may change its mind. A segment with
    words in capitals may end otherwise than its text so far."""


def request_of(given: EngineRequest | DecodingOptions, default: EngineRequest) -> EngineRequest:
    """Return a caller's request, or the default one with the caller's options."""
    return replace(default, options=given) if isinstance(given, DecodingOptions) else given
