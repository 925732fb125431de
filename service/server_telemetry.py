"""Telemetry of a server: metrics, traces and request logs, created once per process."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from fastapi import APIRouter, FastAPI
from starlette.responses import Response

from dragoman.scheduling.metrics import EngineMetrics
from service.http.authentication import Authenticator
from service.http.errors import ApiError, ErrorForm, ErrorForms
from service.http.metrics_route import Access, metrics_routes
from service.http.telemetry_middleware import RequestLogOptions, TelemetryMiddleware
from service.telemetry.engine_metrics import EngineMetricsCollector
from service.telemetry.metrics import Metrics, ServerState
from service.telemetry.request_counters import RequestCounters
from service.telemetry.tracing import NO_TRACING, Tracing, open_tracing
from service.telemetry.worker_counters import WorkerCounters
from service.translation.inference import Inference


@dataclass(frozen=True, slots=True)
class TelemetryOptions:
    """What to record, and who may read the metrics."""

    metrics: Access = "open"
    lines: RequestLogOptions = field(default_factory=RequestLogOptions)
    otlp_endpoint: str | None = None
    """Base address of the collector of traces; None for no traces."""
    memory_budget_bytes: int | None = None
    """The router's memory budget, which metrics report."""


class Telemetry:
    """Records the engine, through `engine_metrics`, and the application, through `surround`."""

    def __init__(self, options: TelemetryOptions = TelemetryOptions(), tracing: Tracing = NO_TRACING) -> None:
        """Start with empty counters.

        Args:
            options: what to record.
            tracing: records requests and the engine's work for them.
        """
        self._options = options
        self._tracing = tracing
        self.requests = RequestCounters()
        self.workers = WorkerCounters()
        self._engine = EngineMetricsCollector(tracing)

    @classmethod
    def open(cls, options: TelemetryOptions) -> "Telemetry":
        """Create it with traces, if the options enable them.

        Raises:
            TracingError: traces are not available.
        """
        return cls(options, open_tracing(options.otlp_endpoint))

    @property
    def engine_metrics(self) -> EngineMetrics:
        """The metrics to open the router with."""
        return self._engine

    def error_forms(self, others: Iterable[ErrorForm]) -> ErrorForms:
        """Return error forms that count the errors."""
        return _CountingErrorForms(tuple(others), self.requests)

    def routes(self, inference: Inference, authenticator: Authenticator) -> APIRouter:
        """Return the route of the metrics, if anybody may read them."""
        return metrics_routes(self.metrics(inference), authenticator, self._options.metrics)

    def metrics(self, inference: Inference) -> Metrics:
        """Return the metrics of a server; each read returns its current state."""

        def look() -> ServerState:
            router = inference.router
            models = router.models()
            return ServerState(
                is_ready=inference.is_ready,
                num_models=len(models),
                num_open_models=sum(model.is_open for model in models),
                memory_bytes=router.used_bytes,
                queue=router.queue(),
            )

        return Metrics(self._engine, self.requests, self.workers, look, self._options.memory_budget_bytes)

    def surround(self, app: FastAPI) -> None:
        """Add the telemetry middleware; call this after all other middleware is added."""
        app.add_middleware(self._tracing.surround)
        app.add_middleware(TelemetryMiddleware, counters=self.requests, options=self._options.lines)

    def close(self) -> None:
        """Send the remaining traces; call this when the server has stopped."""
        self._tracing.close()


@dataclass(frozen=True, slots=True)
class _CountingErrorForms(ErrorForms):
    counters: RequestCounters = field(default_factory=RequestCounters)

    def respond(self, error: ApiError, path: str) -> Response:
        self.counters.reject(error.kind)
        return ErrorForms.respond(self, error, path)
