"""Traces of requests: none, or OpenTelemetry's if its packages are installed."""

from collections.abc import Sequence

from starlette.types import ASGIApp

from dragoman.scheduling.metrics import SegmentRecord


class TracingError(Exception):
    """Traces are enabled but not available; the message says what to do."""


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


def open_tracing(otlp_endpoint: str | None) -> Tracing:
    """Open traces to a collector. OpenTelemetry is imported only if traces are enabled.

    Args:
        otlp_endpoint: base address of the collector, such as `http://127.0.0.1:4318`; `/v1/traces` is added,
            as for the standard variable OTEL_EXPORTER_OTLP_ENDPOINT. None for no traces.

    Raises:
        TracingError: the packages are not installed.
    """
    if otlp_endpoint is None:
        return NO_TRACING
    try:
        from service.telemetry.spans import SpanTracing, exporter_to  # noqa: PLC0415 -- an optional dependency
    except ModuleNotFoundError as error:
        raise TracingError(
            f"otlp_endpoint: traces need the package {error.name}; install dragoman[otel] or omit it"
        ) from error
    return SpanTracing(exporter_to(otlp_endpoint))
