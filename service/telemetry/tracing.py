"""Traces of requests: none, or OpenTelemetry's where its packages are installed."""

from collections.abc import Sequence
from typing import Protocol

from starlette.types import ASGIApp

from dragoman.scheduling.metrics import SegmentRecord


class TracingError(Exception):
    """Traces were asked for and cannot be had; the message says what to do."""


class Tracing(Protocol):
    """What is told of requests and of the engine's work for them."""

    def surround(self, app: ASGIApp) -> ASGIApp:
        """The application, each of its requests traced."""
        ...

    def trace_context(self) -> object:
        """The request under way in this context, for `left`."""
        ...

    def segments_left(self, records: Sequence[SegmentRecord]) -> None:
        """Sources have left the engine. Called on its threads."""
        ...

    def close(self) -> None:
        """Send what has not been sent."""
        ...


class NoTracing:
    """Nobody wants traces."""

    def surround(self, app: ASGIApp) -> ASGIApp:
        return app

    def trace_context(self) -> object:
        return None

    def segments_left(self, records: Sequence[SegmentRecord]) -> None:
        pass

    def close(self) -> None:
        pass


NO_TRACING = NoTracing()


def open_tracing(otlp_endpoint: str | None) -> Tracing:
    """Traces to a collector; nothing of OpenTelemetry is imported unless they are wanted.

    Args:
        otlp_endpoint: the collector's base, as in `http://127.0.0.1:4318`; `/v1/traces` is added, as the
            standard variable OTEL_EXPORTER_OTLP_ENDPOINT has it. None for no traces.

    Raises:
        TracingError: the packages are not installed.
    """
    if otlp_endpoint is None:
        return NO_TRACING
    try:
        from service.telemetry.spans import Spans, exporter_to  # noqa: PLC0415 -- an extra
    except ModuleNotFoundError as error:
        raise TracingError(
            f"otlp_endpoint: traces need the package {error.name}; install dragoman[otel], or leave it out"
        ) from error
    return Spans(exporter_to(otlp_endpoint))
