"""Choice between no traces and OpenTelemetry's, whose packages are optional."""

from service.telemetry.tracing import NO_TRACING, Tracing


class TracingError(Exception):
    """Traces are enabled but not available; the message says what to do."""


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
