"""OpenTelemetry spans: one per request, and in it the wait and the search of each segment.

This does not use OpenTelemetry's own middleware, which records the client's address and the whole URL, whose
query may contain the client's text.
"""

import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, ParentBased
from opentelemetry.trace import Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dragoman.scheduling.metrics import SegmentOutcome, SegmentRecord
from service.telemetry.request_record import CURRENT_REQUEST, api_of, method_of, route_of
from service.telemetry.tracing import Tracing
from service.versions import installed_version

MAX_SEGMENTS = 100
"""Maximum number of segments per request that get spans."""
MIN_SERVER_ERROR = 500
NS = 1_000_000_000

_PROPAGATOR = TraceContextTextMapPropagator()


def exporter_to(otlp_endpoint: str) -> SpanExporter:
    """Return an exporter to a collector, given its base address; it uses OTLP over HTTP."""
    return OTLPSpanExporter(endpoint=otlp_endpoint.rstrip("/") + "/v1/traces")


@dataclass(slots=True)
class _RequestTrace:
    """The trace context of a request; its sources carry it as their mark."""

    context: Context
    num_segments: int = 0
    """Number of segments with spans. Concurrent threads may exceed the maximum by a few; that is harmless."""


_MARK: ContextVar[_RequestTrace | None] = ContextVar("dragoman_trace", default=None)


class SpanTracing(Tracing):
    """A `Tracing` that creates spans, and exports them on a thread of its own."""

    def __init__(self, exporter: SpanExporter) -> None:
        """Start to export. A request with a parent span is sampled as its parent is; others always are."""
        version = installed_version("dragoman")
        resource = Resource({"service.name": "dragoman", "service.version": version})
        self._provider = TracerProvider(
            sampler=ParentBased(ALWAYS_ON), resource=resource, shutdown_on_exit=False
        )
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("dragoman", version)

    def surround(self, app: ASGIApp) -> ASGIApp:
        return _RequestSpans(app, self._tracer)

    def trace_context(self) -> object:
        return _MARK.get()

    def segments_left(self, records: Sequence[SegmentRecord]) -> None:
        offset_ns = time.time_ns() - int(time.monotonic() * NS)
        for passage in records:
            mark = passage.mark
            if isinstance(mark, _RequestTrace) and mark.num_segments < MAX_SEGMENTS:
                mark.num_segments += 1
                self._record_segment(passage, mark.context, offset_ns)

    def close(self) -> None:
        self._provider.shutdown()

    def _record_segment(self, passage: SegmentRecord, context: Context, offset_ns: int) -> None:
        def moment_ns(moment_s: float) -> int:
            return offset_ns + int(moment_s * NS)

        waited_s = passage.left_s if passage.joined_s is None else passage.joined_s
        queue = self._tracer.start_span("queue", context, start_time=moment_ns(passage.queued_s))
        if passage.joined_s is None:
            queue.set_status(Status(StatusCode.ERROR))
        queue.end(moment_ns(waited_s))
        if passage.joined_s is None:
            return
        attributes = {
            "dragoman.method": passage.kind.method.value,
            "dragoman.beam_size": passage.kind.beam_size,
            "dragoman.source_tokens": passage.num_source_tokens,
            "dragoman.target_tokens": passage.num_target_tokens,
            "dragoman.ending": passage.ending.value,
        }
        search = self._tracer.start_span(
            "encode and decode", context, attributes=attributes, start_time=moment_ns(waited_s)
        )
        if passage.ending is not SegmentOutcome.DONE:
            search.set_status(Status(StatusCode.ERROR))
        search.end(moment_ns(passage.left_s))


@dataclass(slots=True, eq=False)
class _RequestSpans:
    """ASGI middleware: a span for every request."""

    app: ASGIApp
    tracer: trace.Tracer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status = 0

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        parent = _PROPAGATOR.extract({"traceparent": Headers(scope=scope).get("traceparent", "")})
        span = self.tracer.start_span(method_of(scope), parent, SpanKind.SERVER)
        # Exceptions are not recorded: their messages may quote a client's text.
        with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
            _MARK.set(_RequestTrace(trace.set_span_in_context(span)) if span.is_recording() else None)
            note = CURRENT_REQUEST.get()
            if note is not None:
                note.trace_id = trace.format_trace_id(span.get_span_context().trace_id)
                span.set_attribute("dragoman.request_id", note.request_id)
            try:
                await self.app(scope, receive, note_status)
            finally:
                _describe(span, scope, status)


def _describe(span: Span, scope: Scope, status: int) -> None:
    span.update_name(f"{method_of(scope)} {route_of(scope)}")
    span.set_attributes(
        {
            "http.request.method": method_of(scope),
            "http.route": route_of(scope),
            "dragoman.api": api_of(scope),
        }
    )
    if status:
        span.set_attribute("http.response.status_code", status)
    if not status or status >= MIN_SERVER_ERROR:
        span.set_status(Status(StatusCode.ERROR))
