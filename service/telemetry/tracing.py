"""The interface of traces of requests, and the one that records nothing."""

from collections.abc import Sequence

from starlette.types import ASGIApp

from dragoman.scheduling.metrics import SegmentRecord


class Tracing:
    """An observer of requests and of the engine's work for them; this class records nothing."""

    def surround(self, app: ASGIApp) -> ASGIApp:
        """Wrap the application so that each of its requests is traced."""
        return app

    def trace_context(self) -> object:
        """Return the trace context of the current request, to be attached to its sources."""
        return None

    def segments_left(self, records: Sequence[SegmentRecord]) -> None:
        """Record sources that have left the engine. Called on its threads."""

    def close(self) -> None:
        """Send all traces that are not sent yet."""


NO_TRACING = Tracing()
