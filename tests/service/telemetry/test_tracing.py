"""Spans of a request, of what its segments waited and how long they were searched for, and nothing else."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import SpanKind, StatusCode

from service.server.telemetry import Telemetry
from service.telemetry.spans import MAX_SEGMENTS, SpanTracing
from service.telemetry.tracing_setup import TracingError, open_tracing
from tests.service.telemetry.conftest import Observe, failing, observed_engine, serve_one

WORD = "Zwiebelfisch"


class Kept(SpanExporter):
    """Spans that were handed over."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += spans
        return SpanExportResult.SUCCESS

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]


@contextmanager
def traced(kept: Kept) -> Iterator[httpx.Client]:
    """A client of a server with the real engine; spans are there when it is over."""
    tracing = SpanTracing(kept)
    observer = Telemetry(tracing=tracing)
    with observed_engine(observer) as client:
        yield client
    observer.tracing.close()


@pytest.fixture
def kept() -> Kept:
    return Kept()


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def test_a_request_is_a_span_and_its_segments_are_spans_in_it(kept: Kept) -> None:
    with traced(kept) as client:
        body = {"text": "ab cd\nef gh", "beam_size": 2}
        response = client.post("/v1/translate", json=body, headers={"X-Request-ID": "me"})
    assert response.status_code == 200

    (request,) = kept.named("POST /v1/translate")
    assert request.kind is SpanKind.SERVER
    assert attributes(request) == {
        "http.request.method": "POST",
        "http.route": "/v1/translate",
        "http.response.status_code": 200,
        "dragoman.api": "native",
        "dragoman.request_id": "me",
    }
    assert request.context is not None
    queues = [span for span in kept.named("queue") if span.parent == request.context]
    searches = [span for span in kept.named("encode and decode") if span.parent == request.context]
    assert len(queues) == len(searches) == 2
    for queue, search in zip(queues, searches, strict=True):
        assert queue.end_time == search.start_time
        times = [request.start_time, queue.start_time, queue.end_time, search.end_time, request.end_time]
        assert times == sorted(time for time in times if time is not None)
        reported = attributes(search)
        assert (reported["dragoman.method"], reported["dragoman.beam_size"]) == ("search", 2)
        assert (reported["dragoman.ending"], search.status.status_code) == ("done", StatusCode.UNSET)


def test_a_request_continues_the_trace_of_its_client(kept: Kept) -> None:
    trace_id, parent_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    with traced(kept) as client:
        client.get("/v1/models", headers={"traceparent": f"00-{trace_id}-{parent_id}-01"})
        client.get("/v1/languages", headers={"traceparent": f"00-{trace_id}-{parent_id}-00"})

    (span,) = kept.named("GET /v1/models")
    assert span.context is not None
    assert span.parent is not None
    assert f"{span.context.trace_id:032x}" == trace_id
    assert f"{span.parent.span_id:016x}" == parent_id
    assert not kept.named("GET /v1/languages")  # whoever asks does not want it traced


def test_a_request_without_a_trace_has_one_of_its_own(kept: Kept) -> None:
    with traced(kept) as client:
        for _ in range(2):
            client.get("/v1/models", headers={"traceparent": "nonsense"})

    first, second = (span.context for span in kept.named("GET /v1/models"))
    assert first is not None
    assert second is not None
    assert first.trace_id != second.trace_id


def test_only_so_many_segments_of_a_request_have_spans(kept: Kept) -> None:
    with traced(kept) as client:
        texts = [f"{number:b}".replace("0", "a").replace("1", "b") for number in range(MAX_SEGMENTS + 50)]
        response = client.post("/v1/translate", json={"text": texts, "max_length": 2})
    assert response.status_code == 200

    (request,) = kept.named("POST /v1/translate")
    assert sum(span.parent == request.context for span in kept.named("encode and decode")) == MAX_SEGMENTS


def test_spans_have_nothing_in_them_that_a_client_wrote(kept: Kept, observe: Observe) -> None:
    tracing = SpanTracing(kept)
    client = observe(Telemetry(tracing=tracing))
    headers = {"X-API-Key": WORD, "User-Agent": WORD, "tracestate": f"a={WORD}", "baggage": f"a={WORD}"}
    client.post(f"/v1/translate?q={WORD}", json={"text": WORD}, headers=headers)
    client.post("/v1/translate", json={"text": f"explode {WORD}"}, headers=headers)
    client.get(f"/{WORD}?q={WORD}")
    client.request(WORD.upper(), "/v1/models")
    tracing.close()

    reported = "".join(span.to_json() for span in kept.spans)
    assert len(kept.spans) >= 4
    assert WORD.lower() not in reported.lower()
    assert "127.0.0.1" not in reported
    (failed,) = [span for span in kept.spans if attributes(span).get("http.response.status_code") == 500]
    assert failed.status.status_code is StatusCode.ERROR


def test_an_exception_raised_in_a_span_is_not_quoted_in_it(kept: Kept) -> None:
    tracing = SpanTracing(kept)
    with pytest.raises(RuntimeError, match=WORD):
        serve_one(tracing.surround(failing(WORD)), f"/{WORD}")
    tracing.close()

    (span,) = kept.spans
    assert span.status.status_code is StatusCode.ERROR
    assert WORD not in span.to_json()


def test_an_endpoint_without_the_packages_is_rejected_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "service.telemetry.spans")
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(TracingError, match=r"otlp_endpoint: .*opentelemetry.*install dragoman\[otel\]"):
        open_tracing("http://127.0.0.1:4318")


@contextmanager
def receiving(seen: list[tuple[str, bytes]]) -> Iterator[str]:
    """The address of a server that accepts every request; it notes paths and bodies."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_spans_are_sent_to_the_collector() -> None:
    seen = list[tuple[str, bytes]]()
    with receiving(seen) as address:
        observer = Telemetry(open_tracing(f"{address}/"))
        with observed_engine(observer) as client:
            client.get("/v1/models")
        observer.tracing.close()

    assert {path for path, _ in seen} == {"/v1/traces"}
    bodies = [body for _, body in seen]
    assert any(b"GET /v1/models" in body or body[:2] == b"\x1f\x8b" for body in bodies)
